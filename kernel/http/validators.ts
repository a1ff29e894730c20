import { Kind, OptionalKind, type TSchema } from '@sinclair/typebox'
import type { FastifySchemaCompiler, FastifyServerOptions } from 'fastify'
import { Failure } from '#contracts/errors'
import { checkShape } from '../schema-check.js'

type Verdict = { readonly value: unknown } | { readonly error: Failure }

/**
 * Bodies are checked as they are: nothing coerced, added or removed. Path, query and header values are text, so numbers and booleans are read from it.
 */
const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart = 'body' }) => {
  if (httpPart === 'body')
    return value => (value === null && mayBeAbsent(schema) ? ABSENT : check(schema, value, 'body'))
  const part = httpPart === 'querystring' ? 'query' : httpPart
  const readings = readingsOf(schema)
  return value => check(schema, read(value, readings), part)
}

/**
 * The option that makes an app check with `compileValidator` and reply with plain JSON. Set at construction and not later, or
 * the framework loads its own schema libraries first; its type knows no other validator than that one.
 */
export const schemaCompilers = {
  compilersFactory: {
    buildValidator: () => compileValidator,
    buildSerializer: () => () => (data: unknown) => JSON.stringify(data),
  },
} as unknown as NonNullable<FastifyServerOptions['schemaController']>

/** Only schemas made with typebox can be compiled. */
export const isTypebox = (schema: unknown): schema is TSchema =>
  typeof schema === 'object' && schema !== null && Kind in schema

/** True when a route with this body schema answers a request without a body too. */
export const mayBeAbsent = (schema: TSchema): boolean =>
  schema[OptionalKind] === 'Optional' ||
  (Array.isArray(schema.anyOf) && schema.anyOf.some(part => part.type === 'null'))

const ABSENT: Verdict = Object.freeze({ value: undefined })

function check(schema: TSchema, value: unknown, part: string): Verdict {
  const problem = checkShape(schema, value, part)
  return problem === undefined ? { value } : { error: new Failure('invalid_request', problem) }
}

interface Reading {
  readonly key: string
  readonly type: 'number' | 'boolean' | 'array' | 'text'
  readonly fallback: unknown
}

/** What has to be done to the text values of an object; empty when its schema only has strings without defaults. */
function readingsOf(schema: TSchema): readonly Reading[] {
  const properties: Readonly<Record<string, TSchema>> = schema.properties ?? {}
  return Object.entries(properties).flatMap(([key, { type, default: fallback }]): Reading[] => {
    if (type === 'integer' || type === 'number') return [{ key, type: 'number', fallback }]
    if (type === 'boolean' || type === 'array') return [{ key, type, fallback }]
    return fallback === undefined ? [] : [{ key, type: 'text', fallback }]
  })
}

function read(given: unknown, readings: readonly Reading[]): unknown {
  if (readings.length === 0 || typeof given !== 'object' || given === null) return given
  const values: Record<string, unknown> = { ...given }
  for (const { key, type, fallback } of readings) {
    const read = readOne(values[key], type)
    if (read !== undefined) values[key] = read
    else if (fallback !== undefined) values[key] = fallback
    else delete values[key]
  }
  return values
}

/** Undefined: keep the default. Of a number only digits are read, as the interface has always had it. */
function readOne(value: unknown, type: Reading['type']): unknown {
  if (type === 'number') return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined
  if (type === 'boolean') return value === 'true' ? true : value === 'false' ? false : value
  if (type === 'array') return value === undefined || Array.isArray(value) ? value : [value]
  return value
}
