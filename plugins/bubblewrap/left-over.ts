import type { Socket } from 'node:net'

const LOOK_MS = 250
const MOST_LOOKS = 4
/** Both pipes, at the most an ordinary user's pipe can hold. */
const MOST_BYTES = 2 * 1024 * 1024

/**
 * What the pipes still bring when the launcher has ended. It comes to an end by itself, unless a descriptor was handed to
 * another command: the pipes are closed when the command is over, and nothing comes, or more or for longer than what
 * can have been in them.
 */
export class LeftOver {
  readonly #timer: NodeJS.Timeout
  #bytes = 0
  #seen = -1
  #looks = 0
  constructor(sockets: readonly (Socket | undefined)[], isOver: () => boolean) {
    this.#timer = setInterval(() => {
      const hasNews = this.#bytes !== this.#seen
      this.#seen = this.#bytes
      if (!isOver()) this.#bytes = 0
      else if (this.#bytes > MOST_BYTES) close(sockets)
      // Paused means that the one who takes it is busy.
      else if (!sockets.some(socket => socket?.isPaused()) && (!hasNews || ++this.#looks === MOST_LOOKS)) close(sockets)
    }, LOOK_MS)
  }
  count(bytes: number): void {
    this.#bytes += bytes
  }
  stop(): void {
    clearInterval(this.#timer)
  }
}

function close(sockets: readonly (Socket | undefined)[]): void {
  for (const socket of sockets) socket?.destroy()
}
