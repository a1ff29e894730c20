const LF = 10

/** Cuts a byte stream into lines; longer ones than allowed are dropped and counted, never held. */
export class JsonLines {
  #parts: Buffer[] = []
  #held = 0
  #isSkipping = false
  dropped = 0

  constructor(readonly maxLineBytes: number) {}

  *take(chunk: Buffer): Generator<unknown> {
    for (let from = 0; from < chunk.length; ) {
      const end = chunk.indexOf(LF, from)
      this.#keep(chunk.subarray(from, end === -1 ? chunk.length : end))
      if (end === -1) return
      from = end + 1
      const parts = this.#parts
      const isWhole = !this.#isSkipping && this.#held > 0
      this.#parts = []
      this.#held = 0
      this.#isSkipping = false
      if (isWhole) yield JSON.parse(Buffer.concat(parts).toString())
    }
  }

  #keep(piece: Buffer): void {
    if (this.#isSkipping) return
    this.#held += piece.length
    if (this.#held <= this.maxLineBytes) {
      this.#parts.push(piece)
      return
    }
    this.#isSkipping = true
    this.#parts = []
    this.dropped++
  }
}
