/**
 * A file name pattern: `*` and `?` within a name, `[set]`, `{a,b}`, `**` for any folders. Hand-written and not a
 * regular expression: compiled ones take 44 s for `*a*a*a*a*b` against one name of 250 letters (measured with picomatch),
 * and both pattern and names may come from somebody hostile. Here the worst case is pattern times name.
 */
export interface GlobPattern {
  /** Folder all matches are in, as far as the pattern tells it without wildcards; empty for none. */
  readonly base: string
  /** Levels below `base` that can hold matches. */
  readonly depth: number
  /** `relative` is relative to where the pattern starts, not to `base`. */
  matches(relative: string): boolean
  /** Some part of it starts with a dot, so that hidden folders are worth a look. */
  readonly mayBeHidden: boolean
  /** True when the pattern itself names this folder. */
  names(folder: string): boolean
}

const MAX_ALTERNATIVES = 64
const MAX_DEPTH = 50

/** Reads a pattern, or says what is wrong with it. */
export function parseGlob(pattern: string): GlobPattern | string {
  const expanded = expandBraces(pattern)
  if (!expanded) return `The pattern stands for more than ${MAX_ALTERNATIVES} alternatives. Use fewer braces.`
  const alternatives = expanded.map(text => text.split('/').filter(part => part !== '' && part !== '.'))
  if (alternatives.some(parts => parts.includes('..')))
    return 'A pattern may not hold "..". Start from the workspace root.'
  if (alternatives.some(parts => parts.length === 0)) return 'The pattern is empty. Use for example "src/**/*.ts".'
  const compiled = alternatives.map(parts => parts.map(part => (part === '**' ? STAR : parseName(part))))
  const base = commonBase(alternatives)
  const depths = alternatives.map(parts => (parts.includes('**') ? MAX_DEPTH : parts.length - 1 - base.length))
  return {
    base: base.join('/'),
    depth: Math.min(MAX_DEPTH, Math.max(0, ...depths)),
    matches: relative => {
      const parts = relative.split('/')
      return compiled.some(names => matchSequence(names, parts, (name, part) => name.matches(part), isVisible))
    },
    mayBeHidden: alternatives.some(parts => parts.some(part => part.startsWith('.') || part.startsWith('\\.'))),
    names: folder => alternatives.some(parts => parts.includes(folder)),
  }
}

const STAR = Symbol('any number of')
type Sequence<T> = readonly (T | typeof STAR)[]

/** Only the last star ever needs to take one more: quadratic at worst. */
function matchSequence<T, I>(
  pattern: Sequence<T>,
  items: readonly I[],
  fits: (element: T, item: I) => boolean,
  maySwallow: (item: I) => boolean,
): boolean {
  let at = 0
  let item = 0
  let star = -1
  let resumeAt = 0
  while (item < items.length) {
    const element = pattern[at]
    const here = items[item] as I
    if (element === STAR) {
      star = at++
      resumeAt = item
    } else if (element !== undefined && fits(element as T, here)) {
      at++
      item++
    } else {
      const swallowed = items[resumeAt]
      if (star === -1 || swallowed === undefined || !maySwallow(swallowed)) return false
      item = ++resumeAt
      at = star + 1
    }
  }
  while (pattern[at] === STAR) at++
  return at === pattern.length
}

interface NamePattern {
  matches(name: string): boolean
}

type CharacterTest = (character: string) => boolean
const isVisible = (name: string): boolean => !name.startsWith('.')

function parseName(text: string): NamePattern {
  const tests: (CharacterTest | typeof STAR)[] = []
  const characters = [...text]
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? ''
    const set = character === '[' ? parseSet(characters, at) : undefined
    if (set) {
      tests.push(set.test)
      at = set.end
    } else if (character === '*') tests.push(STAR)
    else if (character === '?') tests.push(() => true)
    else {
      const literal = character === '\\' && at + 1 < characters.length ? (characters[++at] ?? '') : character
      tests.push(other => other === literal)
    }
  }
  // As in a shell: a wildcard at the start does not match names that start with a dot.
  const mayBeHidden = text.startsWith('.') || text.startsWith('\\.')
  return {
    matches: name =>
      (mayBeHidden || isVisible(name)) &&
      matchSequence(
        tests,
        [...name],
        (test, character) => test(character),
        () => true,
      ),
  }
}

function parseSet(
  characters: readonly string[],
  start: number,
): { readonly test: CharacterTest; readonly end: number } | undefined {
  const isNegated = characters[start + 1] === '!' || characters[start + 1] === '^'
  const first = start + (isNegated ? 2 : 1)
  const end = characters.indexOf(']', first + 1)
  if (end === -1) return undefined
  const ranges: (readonly [string, string])[] = []
  for (let at = first; at < end; at++) {
    const from = characters[at] ?? ''
    const to = characters[at + 1] === '-' && at + 2 < end ? characters[at + 2] : undefined
    ranges.push([from, to ?? from])
    if (to !== undefined) at += 2
  }
  return { end, test: character => ranges.some(([from, to]) => character >= from && character <= to) !== isNegated }
}

/** `a{b,c{d,e}}` as `ab`, `acd`, `ace`; undefined when there are too many. */
function expandBraces(pattern: string): readonly string[] | undefined {
  const done: string[] = []
  const pending = [pattern]
  while (pending.length > 0) {
    if (done.length + pending.length > MAX_ALTERNATIVES) return undefined
    const text = pending.pop() ?? ''
    const group = innermostGroup(text)
    if (group) pending.push(...group.options.map(option => text.slice(0, group.start) + option + text.slice(group.end)))
    else done.push(text)
  }
  return done
}

function innermostGroup(text: string) {
  const found = /\{([^{}]*,[^{}]*)\}/.exec(text)
  return found
    ? { start: found.index, end: found.index + found[0].length, options: (found[1] ?? '').split(',') }
    : undefined
}

/** Leading folders without wildcards that all alternatives share. */
function commonBase(alternatives: readonly (readonly string[])[]): readonly string[] {
  const [first = []] = alternatives
  const folders = first.slice(0, -1)
  const end = folders.findIndex(
    (part, index) =>
      /[*?[\\]/.test(part) || alternatives.some(parts => parts[index] !== part || index >= parts.length - 1),
  )
  return end === -1 ? folders : folders.slice(0, end)
}
