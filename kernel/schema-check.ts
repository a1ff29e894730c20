import type { TSchema } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { explain } from './explain.js'

/** Compiled schemas: each is made at its first use, once per process. */
const compiled = new WeakMap<TSchema, TypeCheck<TSchema>>()

/**
 * Undefined when the value fits; else one sentence naming the field, what is wrong and what is allowed. `part` names the
 * whole where no field can be named.
 */
export function checkShape(schema: TSchema, value: unknown, part = 'value'): string | undefined {
  let check = compiled.get(schema)
  if (check === undefined) {
    check = TypeCompiler.Compile(schema)
    compiled.set(schema, check)
  }
  if (check.Check(value)) return undefined
  const first = check.Errors(value).First()
  return first === undefined ? `the ${part} is not valid` : explain(first, part)
}
