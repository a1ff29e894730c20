import { StringDecoder } from 'node:string_decoder'

/**
 * Cuts bytes into the data of server-sent events, wherever the reads are cut: inside a character, a line end or a
 * field. Comments and fields other than `data` are skipped. Each byte is looked at once, however small the pieces.
 */
export class SseReader {
  /** Set once an event outgrew the cap; nothing is read after that. */
  isOverflowing = false
  private readonly decoder = new StringDecoder('utf8')
  private tail = ''
  private data: string | undefined
  private isFirst = true
  private skipsLineFeed = false

  /** `onData` gets each event's data; when it answers false, the rest is dropped. */
  constructor(
    private readonly onData: (data: string) => boolean,
    private readonly maxEventChars: number,
  ) {}

  push(bytes: Buffer): void {
    if (!this.isOverflowing) this.scan(this.decoder.write(bytes))
  }

  /** The stream is over: hands out an event whose closing blank line never came. */
  end(): void {
    if (this.isOverflowing) return
    this.scan(this.decoder.end())
    const rest = this.tail
    this.tail = ''
    if (rest !== '' && !this.line(rest)) return
    this.line('')
  }

  private scan(piece: string): void {
    let text = piece
    if (text === '') return
    if (this.isFirst) {
      this.isFirst = false
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1)
    }
    let start = this.skipsLineFeed && text.charCodeAt(0) === 10 ? 1 : 0
    this.skipsLineFeed = false
    let feed = text.indexOf('\n', start)
    let carriage = text.indexOf('\r', start)
    while (feed !== -1 || carriage !== -1) {
      const isCarriage = carriage !== -1 && (feed === -1 || carriage < feed)
      const end = isCarriage ? carriage : feed
      const line = this.tail === '' ? text.slice(start, end) : this.tail + text.slice(start, end)
      this.tail = ''
      start = end + 1
      if (isCarriage && start === text.length) this.skipsLineFeed = true
      else if (isCarriage && feed === start) start += 1
      if (!this.line(line)) return
      if (feed !== -1 && feed < start) feed = text.indexOf('\n', start)
      if (carriage !== -1 && carriage < start) carriage = text.indexOf('\r', start)
    }
    if (start < text.length) this.tail += start === 0 ? text : text.slice(start)
    this.guard()
  }

  /** False when reading is to stop. */
  private line(line: string): boolean {
    if (line === '') {
      const { data } = this
      this.data = undefined
      return data === undefined || data === '' || this.onData(data)
    }
    if (line.startsWith('data:')) {
      const value = line.slice(line.charCodeAt(5) === 32 ? 6 : 5)
      this.data = this.data === undefined ? value : `${this.data}\n${value}`
      return this.guard()
    }
    return true
  }

  private guard(): boolean {
    if (this.tail.length + (this.data?.length ?? 0) <= this.maxEventChars) return true
    this.isOverflowing = true
    this.tail = ''
    this.data = undefined
    return false
  }
}
