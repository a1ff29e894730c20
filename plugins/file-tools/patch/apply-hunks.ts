import { hasOnlyCrlf } from '../file-text.js'
import { type FileChange, fault, type Hunk, type HunkLine, type PatchFault } from './file-change.js'

/** Line comparisons one file may cost; hostile patches end here instead of holding the daemon up. */
const MAX_COMPARISONS = 1_000_000
const MAX_LINES = 200_000

type Compare = (a: string, b: string) => boolean
const EXACTLY: Compare = (a, b) => a === b
/** Models often lose trailing blanks and the line end of a last line. */
const BUT_FOR_TRAILING_BLANKS: Compare = (a, b) => a === b || a.trimEnd() === b.trimEnd()

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

class Search {
  #comparisons = 0

  constructor(readonly lines: readonly string[]) {}

  find(hunk: Hunk, from: number, drift: number): number | PatchFault {
    const old = hunk.lines.filter(line => line.op !== '+').map(line => line.text)
    let start = from
    for (const anchor of hunk.anchors) {
      const at = this.lines.findIndex((line, index) => index >= start && line.trim() === anchor.trim())
      if (at === -1) return fault(`there is no line ${JSON.stringify(anchor)}. Read the file again.`)
      start = at + 1
    }
    if (old.length === 0) return this.#insertion(hunk, start)
    for (const compare of [EXACTLY, BUT_FOR_TRAILING_BLANKS]) {
      const fits = this.#fits(old, start, hunk, drift, compare)
      if (!Array.isArray(fits)) return fits as number | PatchFault
      if (fits.length > 1)
        return fault(
          `it fits at lines ${fits
            .slice(0, 5)
            .map(at => at + 1)
            .join(', ')}. Add more lines around it, or an "@@ <line above>" header.`,
        )
    }
    return fault(
      `the lines it expects are not there (first: ${JSON.stringify(old[0]?.trimEnd().slice(0, 120))}). Read the file again.`,
    )
  }

  #insertion(hunk: Hunk, start: number): number {
    if (hunk.line !== undefined) return Math.min(Math.max(hunk.line, start), this.lines.length)
    return hunk.anchors.length > 0 ? start : this.lines.length
  }

  /** The one place; or the places, none or several. */
  #fits(
    old: readonly string[],
    start: number,
    hunk: Hunk,
    drift: number,
    compare: Compare,
  ): number | PatchFault | readonly number[] {
    const last = this.lines.length - old.length
    if (hunk.isAtEnd) return last >= start && this.#fitsAt(old, last, compare) ? last : []
    const guess = hunk.line === undefined ? undefined : hunk.line + drift
    if (guess !== undefined && guess >= start && guess <= last && this.#fitsAt(old, guess, compare)) return guess
    const found: number[] = []
    for (let at = start; at <= last; at++) {
      if (this.#comparisons > MAX_COMPARISONS)
        return fault('looking for it takes too long. Use smaller hunks with telling lines.')
      if (this.#fitsAt(old, at, compare)) found.push(at)
    }
    const [only] = found
    if (only !== undefined && found.length === 1) return only
    if (guess === undefined || only === undefined) return found
    // Line numbers that are a little off still tell which of equal places is meant, unless two are equally near.
    const [near = only, second] = found.toSorted((a, b) => Math.abs(a - guess) - Math.abs(b - guess))
    return second !== undefined && Math.abs(near - guess) === Math.abs(second - guess) ? found : near
  }

  #fitsAt(old: readonly string[], at: number, compare: Compare): boolean {
    return old.every((line, index) => {
      this.#comparisons++
      return compare(line, this.lines[at + index] ?? '\0')
    })
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
