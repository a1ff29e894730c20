import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'

/** What one connection to a stream brought. */
export interface Reading {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  /** The server ended it, and not we. */
  readonly isWhole: boolean
}

export interface ReadOptions {
  readonly lastEventId?: string
  readonly token?: string
  /** Hang up after exactly this many bytes of the body. */
  readonly maxBytes?: number
  readonly signal?: AbortSignal
  /** Called when the head of the reply is there: from then on the stream is open. */
  readonly onOpen?: () => void
  /** Called with everything read so far; true hangs up. */
  readonly isEnough?: (bytes: Buffer) => boolean
}

/** Reads a stream over one connection of its own until the server ends it, the limit is reached, or the signal fires. */
export function readStream(url: string, options: ReadOptions = {}): Promise<Reading> {
  const { maxBytes = Number.POSITIVE_INFINITY, signal, isEnough } = options
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = request(url, { agent: false, headers: headersOf(options) }, response => {
      options.onOpen?.()
      const chunks: Buffer[] = []
      let size = 0
      const finish = (isWhole: boolean): void => {
        signal?.removeEventListener('abort', hangUp)
        const bytes = Buffer.concat(chunks).subarray(0, maxBytes)
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, isWhole })
        sent.destroy()
      }
      const hangUp = (): void => finish(false)
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.length
        if (size >= maxBytes || isEnough?.(Buffer.concat(chunks))) finish(false)
      })
      response.on('end', () => finish(response.complete))
      response.on('error', () => finish(false))
      if (signal?.aborted) hangUp()
      else signal?.addEventListener('abort', hangUp, { once: true })
    })
    sent.on('error', reject)
    sent.end()
  })
}

/** Opens a stream and never reads its body. Call `destroy` on what it resolves with. */
export function openUnread(url: string, options: ReadOptions = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent: false, headers: headersOf(options) }, response => {
      response.pause()
      response.on('error', () => undefined)
      resolve(response)
    })
    sent.on('error', reject)
    sent.end()
  })
}

/** The whole frames in a piece of a stream, byte for byte; comments are left out, half a frame at the end does not count. */
export function framesIn(bytes: Buffer): readonly string[] {
  const end = bytes.lastIndexOf('\n\n')
  if (end < 0) return []
  const frames = bytes.subarray(0, end).toString('utf8').split('\n\n')
  return frames.filter(frame => frame.startsWith('id: ')).map(frame => `${frame}\n\n`)
}

/** The `id:` of a frame. */
export const idOf = (frame: string): string => frame.slice('id: '.length, frame.indexOf('\n'))

/** The `data:` of a frame. */
export function dataOf(frame: string): string {
  const at = frame.indexOf('\ndata: ')
  return frame.slice(at + '\ndata: '.length, frame.indexOf('\n', at + 1))
}

/** Reads a run in pieces of random length, each time going on after the last whole frame, until nothing is left. */
export async function readInPieces(url: string, random: () => number, largestPiece: number): Promise<PiecedReading> {
  const frames: string[] = []
  let connections = 0
  let fruitless = 0
  for (;;) {
    const last = frames.at(-1)
    // Pieces grow while none brings a whole frame, so that one larger than a piece gets through.
    const maxBytes = 1 + Math.floor(random() * largestPiece * 2 ** fruitless)
    const reading = await readStream(url, { maxBytes, ...(last !== undefined && { lastEventId: idOf(last) }) })
    connections += 1
    if (reading.status === 204) return { frames, connections }
    if (reading.status !== 200) throw new Error(`no stream: ${reading.status} ${reading.bytes}`)
    const whole = framesIn(reading.bytes)
    fruitless = whole.length === 0 ? fruitless + 1 : 0
    frames.push(...whole)
  }
}

export interface PiecedReading {
  readonly frames: readonly string[]
  readonly connections: number
}

const headersOf = ({ lastEventId, token }: ReadOptions): Record<string, string> => ({
  connection: 'keep-alive',
  ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
  ...(token !== undefined && { authorization: `Bearer ${token}` }),
})
