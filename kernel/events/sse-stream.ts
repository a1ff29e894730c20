import type { ServerResponse } from 'node:http'
import type { Identity } from '#contracts/identity'
import type { EventSource, Next } from './sources.js'

const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
}
const PING = ': ping\n\n'
/** Tells a reader to come back soon, when the daemon is about to go. */
const FAREWELL = 'retry: 1000\n\n'

export interface SseOptions {
  readonly keepaliveMs: number
  /** A reader that takes nothing for this long is cut; it may come back and goes on where it was. */
  readonly stalledMs: number
  readonly identity: Identity
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * One reader's connection. It holds a page at most: the next one is fetched when the socket has taken the last, and a
 * socket that takes nothing is cut.
 */
export class SseStream {
  readonly #unwake: () => void
  readonly #ping: NodeJS.Timeout
  #stall: NodeJS.Timeout | undefined
  #isPumping = false
  #isWoken = false
  #isClosed = false

  constructor(
    private readonly response: ServerResponse,
    private readonly source: EventSource,
    readonly options: SseOptions,
    private readonly closed: (stream: SseStream) => void,
  ) {
    const { socket } = response
    // Head and first page leave in one packet.
    socket?.cork()
    response.writeHead(200, { ...options.headers, ...SSE_HEADERS, ...connectionOf(response) })
    response.flushHeaders()
    response.once('close', () => this.#close())
    response.on('error', () => this.#close())
    this.#unwake = source.onWake(() => this.#wake())
    this.#ping = setInterval(() => this.#keepAlive(), options.keepaliveMs)
    // A client that left before its stream began sends no `close` any more.
    if (response.destroyed || response.socket === null) this.#close()
    else this.#wake()
    socket?.uncork()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Ends the stream after telling the reader when to come back. */
  farewell(): void {
    if (this.#isClosed) return
    if (!this.response.writableNeedDrain) this.response.write(FAREWELL)
    this.response.end()
    this.#close()
  }

  /** Ends the stream at once: its right to be read is gone. */
  cut(): void {
    this.response.destroy()
    this.#close()
  }

  #wake(): void {
    if (this.#isPumping) {
      this.#isWoken = true
      return
    }
    this.#pump()
  }

  /** Sends what is there. Stays synchronous while pages are at hand, since most wakes find exactly one. */
  #pump(): void {
    this.#isPumping = true
    for (;;) {
      if (this.#isClosed) return
      this.#isWoken = false
      const next = this.source.next()
      if (next instanceof Promise) {
        next.then(
          page => this.#isClosed || !this.#take(page) || this.#pump(),
          () => this.cut(),
        )
        return
      }
      if (!this.#take(next)) return
    }
  }

  /** True when there may be more to send right away. */
  #take(next: Next): boolean {
    if (next === 'end') {
      this.response.end()
      this.#close()
      return false
    }
    if (next === 'gone') {
      this.farewell()
      return false
    }
    if (next === 'nothing') {
      this.#isPumping = this.#isWoken
      return this.#isWoken
    }
    const hasRoom = this.response.write(next.text)
    if (next.isEnd) return this.#take('end')
    if (!hasRoom) this.#waitForRoom()
    return hasRoom
  }

  #waitForRoom(): void {
    const stall = setTimeout(() => this.cut(), this.options.stalledMs)
    this.#stall = stall
    this.response.once('drain', () => {
      clearTimeout(stall)
      if (!this.#isClosed) this.#pump()
    })
  }

  #keepAlive(): void {
    if (!this.response.writableNeedDrain) this.response.write(PING)
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearInterval(this.#ping)
    clearTimeout(this.#stall)
    this.#unwake()
    this.closed(this)
  }
}

/** Said aloud for clients that look for it; one that asked for the connection to be closed gets that. */
const connectionOf = (response: ServerResponse): Readonly<Record<string, string>> =>
  response.shouldKeepAlive && !response.hasHeader('connection') ? { connection: 'keep-alive' } : { connection: 'close' }
