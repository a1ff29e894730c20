import type { TSchema } from '@sinclair/typebox'
import { typeText } from './value.js'

/** Something in the configuration that was not taken. The layer below kept its say. */
export interface Problem {
  /** Dotted key, or the variable where no key is known. */
  readonly key: string
  /** The file or variable it stands in. */
  readonly source: string
  /** What stands there, shortened; masked where it is or may be a secret. */
  readonly given: string
  /** What would have been right, in words. */
  readonly expected: string
}

export const MASK = '***'
const LONGEST_SHOWN = 80

/** A value as people may see it. */
export function shown(value: unknown, isSecret: boolean): string {
  if (isSecret) return value === '' || (Array.isArray(value) && value.length === 0) ? '' : MASK
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  return printable(text)
}

/** A value that may not stand where it stands. */
export const refused = (key: string, source: string, given: string, expected: string): Problem => ({
  key: printable(key),
  source,
  given,
  expected,
})

/** Short, and without characters that would steer a terminal or break a log line. */
function printable(text: string): string {
  const short = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text
  return short.replaceAll(/[\p{C}\u2028\u2029]/gu, '\uFFFD')
}

/** A value of the wrong type. */
export const wrongValue = (
  key: string,
  row: { readonly secret: boolean; readonly type: TSchema },
  source: string,
  given: unknown,
): Problem => ({
  key,
  source,
  given: shown(given, row.secret),
  expected: typeText(row.type),
})

/** A key nobody knows. Its value is not shown: it may be a misspelt secret. */
export function unknownKey(key: string, source: string, known: Iterable<string>): Problem {
  const nearest = nearestOf(key, known)
  return {
    key: printable(key),
    source,
    given: '(not shown)',
    expected: nearest === undefined ? 'a known key' : `a known key; did you mean ${nearest}?`,
  }
}

/** One line for a log or a terminal. */
export const describeProblem = ({ key, source, given, expected }: Problem): string =>
  `${source}: ${key} is ${given === '' ? 'empty' : given}, expected ${expected}; ignored`

/** The known word with the fewest edits, if it is near enough to be a likely slip. */
export function nearestOf(
  word: string,
  known: Iterable<string>,
  farthest = Math.max(2, word.length / 3),
): string | undefined {
  if (word.length > 100) return undefined
  let best: string | undefined
  let fewest = farthest + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= fewest) continue
    const edits = editsBetween(word, candidate)
    if (edits < fewest) [best, fewest] = [candidate, edits]
  }
  return best
}

function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let line = 1; line <= from.length; line++) {
    const next = [line]
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (from[line - 1] === to[column - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}
