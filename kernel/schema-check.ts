import type { TSchema } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import type { ValueError } from '@sinclair/typebox/errors'

const compiled = new WeakMap<object, TypeCheck<TSchema>>()

/** The compiled form of a schema, made once per schema object. */
export function compile(schema: TSchema): TypeCheck<TSchema> {
  const known = compiled.get(schema)
  if (known) return known
  const fresh = TypeCompiler.Compile(schema)
  compiled.set(schema, fresh)
  return fresh
}

/** Undefined when the value fits; else one sentence naming the field, what is wrong and what is allowed. */
export function checkShape(schema: TSchema, value: unknown): string | undefined {
  const check = compile(schema)
  if (check.Check(value)) return undefined
  const first = check.Errors(value).First()
  return first ? describe(first) : 'the value does not fit'
}

function describe(error: ValueError): string {
  const field = error.path.split('/').filter(Boolean).join('.')
  const choices = literals(error.schema)
  const what = choices.length > 0 ? `must be one of ${choices.join(', ')}` : lowerFirst(error.message)
  return field ? `${field}: ${what}` : what
}

function literals(schema: TSchema): string[] {
  const options = (schema.anyOf ?? []) as TSchema[]
  return options.every(option => 'const' in option) ? options.map(option => JSON.stringify(option.const)) : []
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)
