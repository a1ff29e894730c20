import { hasOnlyCrlf } from '../file-text.js'
import { type FileChange, fault, type Hunk, type HunkLine, type PatchFault } from './file-change.js'

/** Line comparisons one file may cost; hostile patches end here instead of holding the daemon up. */
const MAX_COMPARISONS = 1_000_000
const MAX_LINES = 200_000
const MAX_SHOWN_CHARS = 120

/** Applies hunks in order. Each must fit exactly once near where it says it stands; kept lines stay as the file has them. */
export function applyHunks(
  text: string,
  { path, hunks }: Extract<FileChange, { hunks: unknown }>,
): string | PatchFault {
  const lines = splitLines(text)
  if (lines === undefined) return fault(`${path} has more than ${MAX_LINES} lines. Use a command in bash.`)
  const search = new Search(lines)
  const isCrlf = hasOnlyCrlf(text)
  const result: string[] = []
  let done = 0
  let drift = 0
  for (const original of hunks) {
    const hunk = isCrlf ? { ...original, lines: original.lines.map(toCrlf) } : original
    const at = search.find(hunk, done, drift)
    if (typeof at !== 'number') return fault(`${capital(hunk.header)} does not fit ${path}: ${at.message}`)
    if (hunk.line !== undefined) drift = at - hunk.line
    while (done < at) result.push(lines[done++] ?? '')
    for (const line of hunk.lines) {
      if (line.op === '+') result.push(line.text)
      else if (line.op === '-') done++
      else result.push(lines[done++] ?? '')
    }
  }
  return joinLines([...result, ...lines.slice(done)])
}

/** Every line is trimmed once, however often it is compared: a line may be long, and most of it blank. */
class Search {
  #comparisons = 0
  readonly #ended: () => readonly string[]
  readonly #bare: () => readonly string[]

  constructor(readonly lines: readonly string[]) {
    this.#ended = once(() => lines.map(line => line.trimEnd()))
    this.#bare = once(() => this.#ended().map(line => line.trimStart()))
  }

  find(hunk: Hunk, from: number, drift: number): number | PatchFault {
    const old = hunk.lines.filter(line => line.op !== '+').map(line => line.text)
    let start = from
    for (const anchor of hunk.anchors) {
      const at = this.#lineLike(anchor, start)
      if (typeof at !== 'number') return at
      start = at + 1
    }
    if (old.length === 0) return this.#insertion(hunk, start)
    const exactly = () => ({ old, lines: this.lines })
    // Models often lose trailing blanks and the line end of a last line.
    const butForTrailingBlanks = () => ({ old: old.map(line => line.trimEnd()), lines: this.#ended() })
    for (const compared of [exactly, butForTrailingBlanks]) {
      const fits = this.#fits(compared(), start, hunk, drift)
      if (!Array.isArray(fits)) return fits as number | PatchFault
      if (fits.length > 1)
        return fault(
          `it fits at lines ${fits
            .slice(0, 5)
            .map(at => at + 1)
            .join(', ')}. Add more lines around it, or an "@@ <line above>" header.`,
        )
    }
    return fault(`the lines it expects are not there (first: ${shown(old[0]?.trimEnd())}). Read the file again.`)
  }

  #insertion(hunk: Hunk, start: number): number {
    if (hunk.line !== undefined) return Math.min(Math.max(hunk.line, start), this.lines.length)
    return hunk.anchors.length > 0 ? start : this.lines.length
  }

  /** The first line from `start` on that is the same but for blanks around it. */
  #lineLike(anchor: string, start: number): number | PatchFault {
    const wanted = anchor.trim()
    const lines = this.#bare()
    for (let at = start; at < lines.length; at++) {
      if (this.#comparisons++ > MAX_COMPARISONS) return TOO_LONG
      if (lines[at] === wanted) return at
    }
    return fault(`there is no line ${shown(anchor)}. Read the file again.`)
  }

  /** The one place; or the places, none or several. */
  #fits(compared: Compared, start: number, hunk: Hunk, drift: number): number | PatchFault | readonly number[] {
    const last = compared.lines.length - compared.old.length
    if (hunk.isAtEnd) return last >= start && this.#fitsAt(compared, last) ? last : []
    const guess = hunk.line === undefined ? undefined : hunk.line + drift
    if (guess !== undefined && guess >= start && guess <= last && this.#fitsAt(compared, guess)) return guess
    const found: number[] = []
    for (let at = start; at <= last; at++) {
      if (this.#comparisons > MAX_COMPARISONS) return TOO_LONG
      if (this.#fitsAt(compared, at)) found.push(at)
    }
    const [only] = found
    if (only !== undefined && found.length === 1) return only
    if (guess === undefined || only === undefined) return found
    // Line numbers that are a little off still tell which of equal places is meant, unless two are equally near.
    const [near = only, second] = found.toSorted((a, b) => Math.abs(a - guess) - Math.abs(b - guess))
    return second !== undefined && Math.abs(near - guess) === Math.abs(second - guess) ? found : near
  }

  #fitsAt({ old, lines }: Compared, at: number): boolean {
    return old.every((line, index) => {
      this.#comparisons++
      return line === lines[at + index]
    })
  }
}

/** What a hunk expects, and where it is looked for. */
interface Compared {
  readonly old: readonly string[]
  readonly lines: readonly string[]
}

const TOO_LONG = fault('looking for it takes too long. Use smaller hunks with telling lines.')

const shown = (text = ''): string => JSON.stringify(text.slice(0, MAX_SHOWN_CHARS))

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** Lines with their line ends. */
function splitLines(text: string): readonly string[] | undefined {
  const lines: string[] = []
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at)
    const next = end === -1 ? text.length : end + 1
    lines.push(text.slice(at, next))
    if (lines.length > MAX_LINES) return undefined
    at = next
  }
  return lines
}

/** A line without a line end that is no longer the last one gets one. */
function joinLines(lines: readonly string[]): string {
  return lines.map((line, index) => (index < lines.length - 1 && !line.endsWith('\n') ? `${line}\n` : line)).join('')
}

const toCrlf = (line: HunkLine): HunkLine => ({ ...line, text: line.text.replace(/(?<!\r)\n$/, '\r\n') })

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
