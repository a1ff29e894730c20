import type { OpenedFile } from '#contracts/workspace-files'

const CHUNK_BYTES = 1024 * 1024
/** Larger files have no version and are looked at only as far as needed. */
const MAX_VERSIONED_BYTES = 10 * 1024 * 1024
/** As far as lines are counted in a large file to find an offset. */
const MAX_SCANNED_BYTES = 64 * 1024 * 1024
const LF = 10

export interface WindowRequest {
  /** Lines to skip. */
  readonly offset: number
  readonly limit: number
  readonly maxBytes: number
}

/** A piece of a file, by lines. */
export interface FileWindow {
  readonly bytes: Uint8Array
  /** More of the file follows. */
  readonly isTruncated: boolean
  /** The window ends inside a line that is longer than it may be. */
  readonly endsInLine: boolean
  /** Lines in the window, a last one without line end included. */
  readonly lines: number
  /** Undefined when the file was not read to its end. */
  readonly totalLines?: number
  readonly version?: string
}

/** Reads a window in chunks; memory is bounded whatever the file's size. The version needs the whole file, up to 10 MiB. */
export async function readWindow(
  file: OpenedFile,
  request: WindowRequest,
  signal: AbortSignal,
  versionOf: (bytes: Uint8Array) => string,
): Promise<FileWindow> {
  const isVersioned = file.sizeBytes <= MAX_VERSIONED_BYTES
  const limit = isVersioned ? Number.POSITIVE_INFINITY : MAX_SCANNED_BYTES
  const scan = new LineScan(request)
  const kept: Uint8Array[] = []
  let position = 0
  let isAtEnd = false
  while (!isAtEnd && position < limit && (isVersioned || !scan.isFull)) {
    signal.throwIfAborted()
    // A small file is asked for one byte more than it had, so that its end is seen at once.
    const wanted = Math.min(CHUNK_BYTES, isVersioned ? Math.max(1, file.sizeBytes + 1 - position) : CHUNK_BYTES)
    const chunk = await file.read(position, wanted)
    position += chunk.length
    isAtEnd = chunk.length < wanted
    if (isVersioned) kept.push(chunk)
    scan.take(chunk)
    // A file that keeps growing under us stops being a small one.
    if (isVersioned && position > MAX_VERSIONED_BYTES + CHUNK_BYTES) break
  }
  const window = scan.window()
  return {
    ...window,
    isTruncated: window.isTruncated || !isAtEnd,
    ...(isAtEnd && { totalLines: scan.totalLines }),
    ...(isAtEnd && isVersioned && { version: versionOf(Buffer.concat(kept)) }),
  }
}

class LineScan {
  readonly #parts: Uint8Array[] = []
  #taken = 0
  #line = 0
  #lastByte = LF
  #state: 'before' | 'inside' | 'full' = 'before'

  constructor(readonly request: WindowRequest) {}

  get isFull(): boolean {
    return this.#state === 'full'
  }

  get totalLines(): number {
    return this.#line + (this.#lastByte === LF ? 0 : 1)
  }

  take(chunk: Uint8Array): void {
    const { offset, limit, maxBytes } = this.request
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      if (this.#state === 'before' && this.#line === offset) {
        this.#state = 'inside'
        from = at
      }
      if (this.#state === 'inside') {
        if (this.#line >= offset + limit || this.#taken >= maxBytes) {
          this.#state = 'full'
          this.#parts.push(chunk.subarray(from, at))
        } else this.#taken++
      }
      if (chunk[at] === LF) this.#line++
    }
    if (this.#state === 'inside') this.#parts.push(chunk.subarray(from))
    this.#lastByte = chunk.at(-1) ?? this.#lastByte
  }

  window(): Pick<FileWindow, 'bytes' | 'isTruncated' | 'endsInLine' | 'lines'> {
    const all = Buffer.concat(this.#parts)
    const end = all.lastIndexOf(LF) + 1
    // Whole lines where possible, so that the next offset continues exactly here.
    const bytes = this.isFull && end > 0 ? all.subarray(0, end) : all
    const endsInLine = this.isFull && bytes.length > 0 && bytes.at(-1) !== LF
    const lines = bytes.reduce((sum, byte) => sum + (byte === LF ? 1 : 0), 0)
    return {
      bytes: endsInLine ? wholeCharacters(bytes) : bytes,
      isTruncated: this.isFull,
      endsInLine,
      lines: lines + (bytes.length > 0 && bytes.at(-1) !== LF ? 1 : 0),
    }
  }
}

/** Without the bytes of a last UTF-8 character that was cut. */
function wholeCharacters(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes.at(-back) ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes
  }
  return bytes
}
