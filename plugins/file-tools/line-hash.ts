/** Short hash of a line without its line end. Not a secret, only a check that a line is the one that was read. */
export function lineHash(line: string): string {
  let hash = SEED
  for (let at = 0; at < line.length; at++) {
    const unit = line.charCodeAt(at)
    if (unit !== CR) hash = mix(hash, unit)
  }
  return hex(hash)
}

/** Each line of a text as `<number>:<hash>|<line>`. */
export function withLineHashes(text: string, firstLine: number): string {
  const isEnded = text.endsWith('\n')
  const lines = (isEnded ? text.slice(0, -1) : text).split('\n')
  const marked = lines.map((line, index) => `${firstLine + index}:${lineHash(line)}|${line}`).join('\n')
  return isEnded ? `${marked}\n` : marked
}

export type LineFound =
  | { readonly kind: 'found'; readonly start: number; readonly end: number }
  | { readonly kind: 'missing' }
  | { readonly kind: 'ambiguous'; readonly lines: readonly number[] }

/**
 * Finds the line that `read` marked with `<number>:<hash>` (or the hash alone). The number decides between equal lines;
 * a line that moved is found when it is the only one of its kind. `start` to `end` spans it with its line end.
 */
export function findLine(text: string, mark: string): LineFound {
  const [, number, digits] = /^(?:(\d+):)?([0-9a-f]{8})\|?/.exec(mark.trim()) ?? []
  if (digits === undefined) return { kind: 'missing' }
  const found: { line: number; start: number; end: number }[] = []
  let line = 1
  for (let start = 0; start <= text.length; line++) {
    const next = text.indexOf('\n', start)
    const end = next === -1 ? text.length : next
    const isNamed = line === Number(number)
    if (end - start < MAX_SEARCHED_CHARS && (isNamed || (found.length < MAX_SHOWN && end < MAX_SEARCHED_CHARS))) {
      // The byte order mark, which `read` does not show.
      const shown = text.slice(start === 0 && text.charCodeAt(0) === BOM ? 1 : start, end)
      if (lineHash(shown) === digits) {
        const here = { line, start, end: Math.min(end + 1, text.length) }
        if (isNamed) return { kind: 'found', ...here }
        found.push(here)
      }
    }
    start = end + 1
  }
  const [only, ...more] = found
  if (!only) return { kind: 'missing' }
  return more.length > 0
    ? { kind: 'ambiguous', lines: found.map(entry => entry.line) }
    : { kind: 'found', start: only.start, end: only.end }
}

const CR = 13
const BOM = 0xfeff
const MAX_SHOWN = 5
/** As far as a line that moved is looked for; a longer line has no hash that is looked at. */
const MAX_SEARCHED_CHARS = 1_000_000
/** FNV-1a, 32 bits. */
const SEED = 0x811c9dc5
const mix = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x01000193) >>> 0
const hex = (hash: number): string => hash.toString(16).padStart(8, '0')
