import { createFinder } from '#contracts/find-text'
import { hasOnlyCrlf, lineNumberAt, MAX_EDITED_BYTES, withCrlf } from './file-text.js'
import { nearestLines } from './nearest-lines.js'
import { failure, type ToolFailure } from './tool-error.js'

export interface Replacement {
  readonly oldText: string
  readonly newText: string
  readonly isForAll: boolean
  /** 1-based; only this one of several. */
  readonly occurrence?: number
}

export interface Region {
  readonly start: number
  readonly end: number
}

export interface Replaced {
  readonly text: string
  readonly count: number
}

const MAX_MATCHES = 100_000
const MAX_SHOWN = 5

/** Replaces text that stands exactly there, once unless told otherwise. What does not fit is answered with a way on. */
export function replaceText(text: string, wanted: Replacement, region?: Region): Replaced | ToolFailure {
  if (wanted.oldText === '')
    return failure('invalid_arguments', 'old_text is empty. Give the text to replace; use write to create a file.')
  const { oldText, newText } = hasOnlyCrlf(text)
    ? { oldText: withCrlf(wanted.oldText), newText: withCrlf(wanted.newText) }
    : wanted
  if (oldText === newText) return failure('no_change', 'old_text and new_text are the same. Nothing to do.')
  const matches = positions(text, oldText, region ?? { start: 0, end: text.length })
  if (matches.length > MAX_MATCHES)
    return failure('too_many_matches', `old_text stands there more than ${MAX_MATCHES} times. Use a command in bash.`)
  const chosen = choose(text, oldText, matches, wanted, region !== undefined)
  if ('error' in chosen) return chosen
  if (text.length + chosen.length * (newText.length - oldText.length) > MAX_EDITED_BYTES)
    return failure('too_large', `The file would become larger than ${MAX_EDITED_BYTES} bytes.`)
  const pieces: string[] = []
  let from = 0
  for (const at of chosen) {
    pieces.push(text.slice(from, at), newText)
    from = at + oldText.length
  }
  return { text: pieces.join('') + text.slice(from), count: chosen.length }
}

function choose(
  text: string,
  oldText: string,
  matches: readonly number[],
  { isForAll, occurrence }: Replacement,
  isBounded: boolean,
): readonly number[] | ToolFailure {
  const where = isBounded ? 'between the given lines' : 'in the file'
  if (matches.length === 0)
    return failure('not_found_in_file', `old_text does not stand ${where}. ${nearestLines(text, oldText)}`, {
      matches: 0,
    })
  if (isForAll) return matches
  if (occurrence !== undefined) {
    const at = matches[occurrence - 1]
    return at === undefined
      ? failure('not_found_in_file', `There are only ${matches.length} occurrences ${where}, not ${occurrence}.`, {
          matches: matches.length,
        })
      : [at]
  }
  if (matches.length === 1) return matches
  const lines = matches.slice(0, MAX_SHOWN).map(at => lineNumberAt(text, at))
  const more = matches.length > MAX_SHOWN ? ', ...' : ''
  return failure(
    'ambiguous_match',
    `old_text stands ${matches.length} times ${where} (lines ${lines.join(', ')}${more}). Add surrounding lines to old_text until it is unique, or set replace_all.`,
    { matches: matches.length, lines },
  )
}

/** Where the text stands in the region, without overlaps; one more than is allowed at most. */
function positions(text: string, part: string, { start, end }: Region): readonly number[] {
  const found: number[] = []
  const find = createFinder(part)
  for (let at = find(text, start); at !== -1 && at + part.length <= end; at = find(text, at + part.length)) {
    found.push(at)
    if (found.length > MAX_MATCHES) break
  }
  return found
}
