import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { pluginFault } from './fault.js'

/**
 * The config a plugin is given: defaults filled in, checked, frozen through and through. A fault names every wrong field
 * and what was expected there, never the value: it may be a secret.
 */
export function checkConfig(plugin: string, schema: TSchema, raw: unknown): unknown {
  const wrong = new Map<string, string>()
  for (const [field, why] of mistakenContainers(schema, raw ?? {}, '')) wrong.set(field, why)
  const config: unknown = Value.Default(schema, Value.Clone(raw ?? {}))
  for (const { path, message } of Value.Errors(schema, config)) {
    const field = path.slice(1).replaceAll('/', '.') || '(whole)'
    if (!wrong.has(field)) wrong.set(field, message)
  }
  if (wrong.size > 0)
    throw pluginFault(
      plugin,
      `has a bad config: ${[...wrong].map(([field, why]) => `${field}: ${why}`).join('; ')}. ` +
        `Correct it under [plugins.${plugin}] in the config file or in the environment`,
    )
  return deepFreeze(config)
}

/**
 * A table where a list belongs, or the other way round. Filling in defaults would take the default and drop what was
 * said without a word.
 */
function* mistakenContainers(schema: TSchema, value: unknown, path: string): Generator<readonly [string, string]> {
  if (typeof value !== 'object' || value === null) return
  const isList = Array.isArray(value)
  if (schema.type === (isList ? 'object' : 'array')) yield [path || '(whole)', `Expected ${schema.type}`]
  else if (!isList)
    for (const [name, inner] of Object.entries((schema.properties ?? {}) as Readonly<Record<string, TSchema>>))
      if (Object.hasOwn(value, name))
        yield* mistakenContainers(inner, Reflect.get(value, name), path === '' ? name : `${path}.${name}`)
}

function deepFreeze(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}
