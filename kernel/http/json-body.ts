import { isUtf8 } from 'node:buffer'
import { Failure } from '#contracts/errors'

const MAX_DEPTH = 100
/** Objects, arrays and keys. A megabyte of tiny ones would hold up everybody else for longer than 50 ms. */
const MAX_PARTS = 50_000
const QUOTE = 34
const COLON = 58
const BACKSLASH = 92
const OPEN_BRACE = 123
const CLOSE_BRACE = 125
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93

/**
 * Reads a JSON body in linear time. Fails with `invalid_json` and the reason for broken UTF-8, broken JSON, nesting
 * beyond 100, more than 50,000 objects, arrays and keys, and a key that stands twice in one object; a `__proto__` key is dropped like any unknown field.
 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw invalid('it is not UTF-8')
  const text = bytes.toString('utf8')
  const members = countMembers(text)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw invalid('it does not parse as JSON', cause)
  }
  if (keep(value) !== members) throw invalid('an object in it has the same key twice')
  return value
}

const invalid = (why: string, cause?: unknown) =>
  new Failure('invalid_json', `the request body cannot be read: ${why}`, { cause })

/** How many `key: value` pairs the text spells. Refuses what is nested too deep or too many before a parser sees it. */
function countMembers(text: string): number {
  let members = 0
  let containers = 0
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at)
    if (character === QUOTE) at = endOfString(text, at)
    else if (character === COLON) members++
    else if (character === OPEN_BRACE || character === OPEN_BRACKET) {
      containers++
      if (++depth > MAX_DEPTH) throw invalid(`it is nested deeper than ${MAX_DEPTH}`)
    } else if (character === CLOSE_BRACE || character === CLOSE_BRACKET) depth--
  }
  if (members + containers > MAX_PARTS) throw invalid(`it holds more than ${MAX_PARTS} objects, arrays and keys`)
  return members
}

/** Index of the closing quote. Runs of backslashes before different quotes never overlap, so this stays linear. */
function endOfString(text: string, open: number): number {
  let close = open
  for (;;) {
    close = text.indexOf('"', close + 1)
    if (close === -1) return text.length
    let first = close
    while (text.charCodeAt(first - 1) === BACKSLASH) first--
    if ((close - first) % 2 === 0) return close
  }
}

/** How many pairs the parsed value holds; fewer than were spelled means that a key stood twice. */
function keep(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const item of value) members += keep(item)
    return members
  }
  const fields = value as Record<string, unknown>
  let hasProto = false
  for (const key in fields) {
    members += 1 + keep(fields[key])
    if (key === '__proto__') hasProto = true
  }
  if (hasProto) Reflect.deleteProperty(fields, '__proto__')
  return members
}
