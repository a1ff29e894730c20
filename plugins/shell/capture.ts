/**
 * Keeps the first and the last bytes of an output of any length, each half of `limit`, and says in between what is
 * missing. Memory stays at `limit`, however much is added.
 */
export class Capture {
  readonly #head: Buffer
  readonly #tail: Buffer
  #total = 0

  constructor(limit: number) {
    this.#head = Buffer.alloc(Math.floor(limit / 2))
    this.#tail = Buffer.alloc(Math.ceil(limit / 2))
  }

  get isTruncated(): boolean {
    return this.#total > this.#head.length + this.#tail.length
  }

  add(chunk: Uint8Array): void {
    const toHead = chunk.subarray(0, Math.max(0, this.#head.length - this.#total))
    this.#head.set(toHead, this.#total < this.#head.length ? this.#total : 0)
    this.#addToTail(chunk.subarray(toHead.length), Math.max(0, this.#total - this.#head.length))
    this.#total += chunk.length
  }

  /** The output, bytes that are not UTF-8 replaced, no character cut in two. */
  text(): string {
    const [head, tail] = [this.#head, this.#tail]
    if (this.#total <= head.length) return head.toString('utf8', 0, this.#total)
    const tailTotal = this.#total - head.length
    if (!this.isTruncated) return Buffer.concat([head, tail.subarray(0, tailTotal)]).toString('utf8')
    const at = tailTotal % tail.length
    const start = head.subarray(0, lastBorder(head))
    const last = Buffer.concat([tail.subarray(at), tail.subarray(0, at)])
    const end = last.subarray(firstBorder(last))
    const missing = this.#total - start.length - end.length
    return `${start.toString('utf8')}\n[... ${missing} bytes left out ...]\n${end.toString('utf8')}`
  }

  #addToTail(bytes: Uint8Array, before: number): void {
    const ring = this.#tail
    const kept = bytes.subarray(Math.max(0, bytes.length - ring.length))
    const at = (before + bytes.length - kept.length) % ring.length
    const first = kept.subarray(0, ring.length - at)
    ring.set(first, at)
    ring.set(kept.subarray(first.length), 0)
  }
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80

function firstBorder(bytes: Uint8Array): number {
  let at = 0
  while (at < 3 && isContinuation(bytes[at])) at++
  return at
}

/** Where the last character that may be incomplete begins. */
function lastBorder(bytes: Uint8Array): number {
  let at = bytes.length - 1
  while (at > bytes.length - 4 && isContinuation(bytes[at])) at--
  const lead = bytes[at] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return at + length <= bytes.length ? bytes.length : at
}
