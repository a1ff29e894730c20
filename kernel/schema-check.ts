import type { TSchema } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { explain } from './http/explain.js'

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
  return first ? explain(first, 'value') : 'the value does not fit'
}
