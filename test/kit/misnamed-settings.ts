import type { TSchema } from '@sinclair/typebox'

const SNAKE_CASE = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/

/**
 * The settings of a plugin's schema, dotted, that are not spelled as the config file spells: in snake_case, also within
 * tables and lists. The keys of a map are whatever its writer says. `enabled` counts too: the host keeps it for itself.
 */
export function misnamedSettings(config: TSchema): readonly string[] {
  return [...fieldsOf(config, '')]
    .filter(path => path === 'enabled' || !SNAKE_CASE.test(path.slice(path.lastIndexOf('.') + 1)))
    .toSorted()
}

/** Every field an object of the schema has, those of objects within it as well. */
function* fieldsOf(schema: unknown, path: string): Generator<string> {
  if (typeof schema !== 'object' || schema === null) return
  const { properties, items, anyOf, allOf, patternProperties, additionalProperties } = schema as Partial<TSchema>
  for (const [name, inner] of Object.entries(properties ?? {})) {
    const field = path === '' ? name : `${path}.${name}`
    yield field
    yield* fieldsOf(inner, field)
  }
  const ofMap = Object.values(patternProperties ?? {})
  for (const inner of [items, anyOf, allOf, ofMap, additionalProperties].flat()) yield* fieldsOf(inner, path)
}
