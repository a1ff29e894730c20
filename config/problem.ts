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
/** Stands for a value that may be a secret in the wrong place. */
export const NOT_SHOWN = '(not shown)'
const KNOWN_KEY = 'a known key'
const INSTALLED = 'an installed plugin'
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
    given: NOT_SHOWN,
    expected: nearest === undefined ? KNOWN_KEY : `${KNOWN_KEY} (did you mean ${nearest}?)`,
  }
}

/** A plugin that is not installed, by `key`; `name` is looked for among `known`. */
export function unknownPlugin(key: string, source: string, known: readonly string[], name = key): Problem {
  const nearest = nearestOf(name, known)
  return {
    key: printable(key),
    source,
    given: NOT_SHOWN,
    expected: nearest === undefined ? INSTALLED : `${INSTALLED} (did you mean ${nearest}?)`,
  }
}

/** One line for a log or a terminal. */
export function describeProblem({ key, source, given, expected }: Problem): string {
  if (expected.startsWith(KNOWN_KEY) || expected.startsWith(INSTALLED))
    return `${source}: ${key} is not ${expected}; ignored`
  const is = given === NOT_SHOWN ? '' : ` is ${given === '' ? 'empty' : given},`
  return `${source}: ${key}${is} expected ${expected}; ignored`
}

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
