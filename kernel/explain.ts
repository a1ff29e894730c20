import { Kind, type TSchema } from '@sinclair/typebox'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'

/**
 * A sentence about the first thing that is wrong: the field as `a.b[0]`, what it may be, and what it is. Text values are
 * shown only where a word of a fixed list was expected; anything else might be a secret.
 */
export function explain(error: ValueError, part: string): string {
  const deepest = innermost(error)
  const field = fieldName(deepest.path) || `the ${part}`
  if (deepest.type === ValueErrorType.ObjectRequiredProperty)
    return `${field} is missing; it must be ${allowed(deepest.schema)}`
  if (deepest.type === ValueErrorType.ObjectAdditionalProperties) return `${field} is not a known field`
  return `${field} must be ${allowed(deepest.schema)}, not ${found(deepest.value, deepest.schema)}`
}

/** Inside a union, the complaint of the variant that has the right shape says more than the union's own. */
function innermost(error: ValueError): ValueError {
  if (error.type !== ValueErrorType.Union) return error
  const variants: readonly TSchema[] = error.schema.anyOf ?? []
  const fitting = variants.findIndex(variant => variant.type === shapeOf(error.value) && variant.const === undefined)
  const inner = fitting === -1 ? undefined : error.errors[fitting]?.First()
  return inner === undefined ? error : innermost(inner)
}

const fieldName = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map(step => (/^\d+$/.test(step) ? `[${step}]` : `.${step.slice(0, 100)}`))
    .join('')
    .replace(/^\./, '')

function allowed(schema: TSchema): string {
  const words = literalsOf(schema)
  if (words !== undefined) {
    const named = words.filter(word => word !== '')
    return named.length === 1
      ? JSON.stringify(named[0])
      : `one of ${named.map(word => JSON.stringify(word)).join(', ')}`
  }
  if (Array.isArray(schema.anyOf)) return [...new Set(schema.anyOf.map(allowed))].join(' or ')
  return `${NOUN[schema.type] ?? 'another value'}${range(schema)}`
}

/** The words of a union of literals, however nested; undefined for any other schema. */
function literalsOf(schema: TSchema): readonly unknown[] | undefined {
  if (schema[Kind] === 'Literal') return [schema.const]
  if (!Array.isArray(schema.anyOf)) return undefined
  const parts = schema.anyOf.map(literalsOf)
  return parts.every(part => part !== undefined) ? parts.flat() : undefined
}

const NOUN: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  null: 'null',
}

function range(schema: TSchema): string {
  if (schema.minLength === 1 && schema.maxLength === undefined) return ' that is not empty'
  if (schema.pattern !== undefined) return ` that matches ${schema.pattern}`
  if (schema.format !== undefined) return ` in the format ${schema.format}`
  const low = schema.minimum ?? schema.exclusiveMinimum ?? schema.minLength ?? schema.minItems
  const high = schema.maximum ?? schema.exclusiveMaximum ?? schema.maxLength ?? schema.maxItems
  const unit = schema.type === 'string' ? ' characters' : schema.type === 'array' ? ' items' : ''
  const above = schema.exclusiveMinimum === undefined ? 'at least' : 'more than'
  const below = schema.exclusiveMaximum === undefined ? 'at most' : 'less than'
  if (low === undefined && high === undefined) return ''
  if (high === undefined) return ` of ${above} ${low}${unit}`
  if (low === undefined) return ` of ${below} ${high}${unit}`
  return ` of ${above} ${low} and ${below} ${high}${unit}`
}

function found(value: unknown, schema: TSchema): string {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  if (typeof value === 'string' && value.length <= 40 && literalsOf(schema) !== undefined) return JSON.stringify(value)
  if (typeof value === 'string') return value === '' ? 'an empty string' : `a string of ${value.length} characters`
  if (Array.isArray(value)) return `an array of ${value.length} items`
  return value === undefined ? 'absent' : 'an object'
}

function shapeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value
}
