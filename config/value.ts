import { Kind, type TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

const INTEGER = /^-?\d{1,16}$/
const NUMBER = /^-?\d{1,16}(\.\d{1,16})?([eE][+-]?\d{1,3})?$/

/** Does the value have the row's type? Exact: no text stands for a number here. */
export const fits = (type: TSchema, value: unknown): boolean => Value.Check(type, value)

/**
 * The value an environment variable stands for; undefined when it has the wrong type. Strict: a flag is `true` or `false`
 * in exactly these letters, a number is nothing but a number. A list is a JSON array, or texts separated by commas. A
 * table is a JSON object.
 */
export function parseText(type: TSchema, text: string): unknown {
  const value = readAs(type, text)
  return value !== undefined && fits(type, value) ? value : undefined
}

/** A variable set to nothing says something only where empty text is a value. */
export const isBlank = (type: TSchema, text: string): boolean => text === '' && !fits(type, '')

/** What a value of the type looks like, in words. */
export function typeText(type: TSchema): string {
  if (type.expected !== undefined) return type.expected
  if (Array.isArray(type.anyOf)) return (type.anyOf as TSchema[]).map(typeText).join(' or ')
  if (type[Kind] === 'Literal') return JSON.stringify(type.const)
  const limits = LIMITS.filter(limit => type[limit] !== undefined).map(limit => `${limit} ${String(type[limit])}`)
  return [WORDS[type.type] ?? 'another type', ...limits].join(', ')
}

const WORDS: Readonly<Record<string, string>> = {
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  string: 'text',
  array: 'a list',
  object: 'a table',
}
const LIMITS = ['minimum', 'exclusiveMinimum', 'maximum', 'minLength', 'maxLength', 'pattern', 'format', 'maxItems']

function readAs(type: TSchema, text: string): unknown {
  switch (type[Kind]) {
    case 'Boolean':
      return text === 'true' ? true : text === 'false' ? false : undefined
    case 'Integer':
      return INTEGER.test(text) ? Number(text) : undefined
    case 'Number':
      return NUMBER.test(text) ? Number(text) : undefined
    case 'Array':
      return text.trimStart().startsWith('[') ? parseJson(text) : separated(type.items as TSchema, text)
    case 'Object':
    case 'Record':
      return parseJson(text)
    case 'Union':
      return firstFitting(type.anyOf as readonly TSchema[], text)
    case 'Literal':
      return String(type.const) === text ? type.const : undefined
    default:
      return text
  }
}

function separated(items: TSchema, text: string): unknown {
  const parts = text.split(',').map(part => part.trim())
  const values = parts.filter(part => part !== '').map(part => parseText(items, part))
  return values.includes(undefined) ? undefined : values
}

function firstFitting(options: readonly TSchema[], text: string): unknown {
  for (const option of options) {
    const value = parseText(option, text)
    if (value !== undefined) return value
  }
  return undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
