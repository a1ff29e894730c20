import { createFinder } from '#contracts/find-text'

const MAX_SEARCHED_CHARS = 1_000_000
const MAX_CANDIDATES = 50
const MAX_SHOWN_CHARS = 120

/** A hint for text that was not found: where it nearly stands and the first line that differs. */
export function nearestLines(text: string, wanted: string): string {
  if (/^\d+:[0-9a-f]{8}\|/m.test(wanted)) return 'Leave the "<number>:<hash>|" prefixes of read out of old_text.'
  const wantedLines = wanted.split('\n')
  const firstIndex = wantedLines.findIndex(line => line.trim() !== '')
  const first = wantedLines[firstIndex]?.trim()
  if (first === undefined) return 'It holds only blank characters. Add a line of text around it.'
  const lines = text.slice(0, MAX_SEARCHED_CHARS).split('\n')
  const candidates = lines.flatMap((line, index) => (line.trim() === first ? [index] : [])).slice(0, MAX_CANDIDATES)
  const [best] = candidates
    .map(start => ({ start, same: sameLines(lines, start, wantedLines, firstIndex) }))
    .sort((a, b) => b.same - a.same)
  if (!best) return partly(lines, first)
  const differing = lines[best.start + best.same]
  const expected = wantedLines[firstIndex + best.same]
  if (expected === undefined || differing === undefined)
    return `It nearly stands at line ${best.start + 1}; only blank characters (indentation, line ends) differ. Copy it exactly as read shows it.`
  const number = best.start + best.same + 1
  if (differing.trim() === expected.trim())
    return `It nearly stands at line ${best.start + 1}, but line ${number} has other indentation: ${quote(differing)}.`
  return `It nearly stands at line ${best.start + 1}, but line ${number} is ${quote(differing)} and old_text has ${quote(expected)}. Read the file again.`
}

/** How many lines from `start` on agree exactly, the first one at least without regard to blanks. */
function sameLines(lines: readonly string[], start: number, wanted: readonly string[], from: number): number {
  let same = 0
  while (from + same < wanted.length && lines[start + same]?.trim() === wanted[from + same]?.trim()) same++
  return same
}

function partly(lines: readonly string[], first: string): string {
  const isIn = (part: string): ((line: string) => boolean) => {
    const find = createFinder(part)
    return line => find(line, 0) !== -1
  }
  const at = lines.findIndex(isIn(first))
  if (at !== -1) return `Its first line is only a part of line ${at + 1}: ${quote(lines[at] ?? '')}.`
  const isLike = isIn(first.toLowerCase())
  const similar = lines.findIndex(line => isLike(line.toLowerCase()))
  if (similar !== -1)
    return `Line ${similar + 1} is the same but for upper and lower case: ${quote(lines[similar] ?? '')}.`
  return 'No line is like its first line. Read the file again, it may be another one.'
}

const quote = (line: string): string =>
  JSON.stringify(line.length > MAX_SHOWN_CHARS ? `${line.slice(0, MAX_SHOWN_CHARS)}...` : line)
