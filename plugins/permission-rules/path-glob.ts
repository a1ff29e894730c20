import type { Glob } from './glob.js'

/**
 * One step of a path pattern. `any` stands for any number of characters, deep ones across segments. `optional`: the two
 * tokens that follow may be left out together. `one` is a single character that passes `is`.
 */
type Token =
  | { readonly kind: 'any'; readonly isDeep: boolean }
  | { readonly kind: 'optional' }
  | { readonly kind: 'one'; readonly is: (character: string) => boolean; readonly isLiteral: boolean }

/** More would make one comparison take noticeable time. */
const MAX_WILDCARDS = 100

// A whole segment `**` also stands for no segment at all: what it means is `(.*\/)?`.
const ANY_FOLDERS: readonly Token[] = [{ kind: 'optional' }, { kind: 'any', isDeep: true }, literal('/')]

/**
 * Compiles a path pattern: `*` within a segment, `**` across segments, `?`, and `[set]` with ranges and `!`; or says what
 * is wrong with it.
 */
export function pathGlob(pattern: string): Glob | string {
  const tokens = tokensOf([...pattern])
  if (typeof tokens === 'string') return tokens
  const literals = tokens.filter(token => token.kind === 'one' && token.isLiteral).length
  if (tokens.length - literals > MAX_WILDCARDS) return `has more than ${MAX_WILDCARDS} wildcards`
  return { literals, hasWildcard: literals < tokens.length, matches: text => matches(tokens, text) }
}

function tokensOf(pattern: readonly string[]): readonly Token[] | string {
  const tokens: Token[] = []
  for (let at = 0; at < pattern.length; ) {
    const character = pattern[at] as string
    if (character === '*') {
      let end = at
      while (pattern[end] === '*') end++
      const isSegment = end - at === 2 && (at === 0 || pattern[at - 1] === '/') && pattern[end] === '/'
      if (isSegment) tokens.push(...ANY_FOLDERS)
      else tokens.push({ kind: 'any', isDeep: end - at > 1 })
      at = isSegment ? end + 1 : end
    } else if (character === '[') {
      const end = pattern.indexOf(']', at + (isNegation(pattern[at + 1]) ? 3 : 2))
      if (end < 0) return 'has a [ without its ]'
      tokens.push({ kind: 'one', is: setOf(pattern.slice(at + 1, end)), isLiteral: false })
      at = end + 1
    } else {
      tokens.push(
        character === '?' ? { kind: 'one', is: given => given !== '/', isLiteral: false } : literal(character),
      )
      at++
    }
  }
  return tokens
}

function literal(character: string): Token {
  return { kind: 'one', is: given => given === character, isLiteral: true }
}

const isNegation = (character: string | undefined): boolean => character === '!' || character === '^'

function setOf(members: readonly string[]): (character: string) => boolean {
  const isNegated = isNegation(members[0])
  const ranges: (readonly [string, string])[] = []
  for (let at = isNegated ? 1 : 0; at < members.length; ) {
    const low = members[at] as string
    const high = members[at + 1] === '-' ? members[at + 2] : undefined
    ranges.push([low, high ?? low])
    at += high === undefined ? 1 : 3
  }
  return given => given !== '/' && ranges.some(([low, high]) => given >= low && given <= high) !== isNegated
}

/** Follows every reading of the text at once: no pattern takes longer than the two lengths multiplied. */
function matches(tokens: readonly Token[], text: string): boolean {
  let states = new Set<number>()
  enter(tokens, states, 0)
  for (const character of text) {
    const next = new Set<number>()
    for (const state of states) {
      const token = tokens[state]
      if (token?.kind === 'one' && token.is(character)) enter(tokens, next, state + 1)
      if (token?.kind === 'any' && (token.isDeep || character !== '/')) enter(tokens, next, state)
    }
    if (next.size === 0) return false
    states = next
  }
  return states.has(tokens.length)
}

/** Adds a state (so many tokens used up) and those it reaches without a character. */
function enter(tokens: readonly Token[], states: Set<number>, state: number): void {
  if (states.has(state)) return
  states.add(state)
  const token = tokens[state]
  if (token === undefined || token.kind === 'one') return
  enter(tokens, states, state + 1)
  if (token.kind === 'optional') enter(tokens, states, state + ANY_FOLDERS.length)
}
