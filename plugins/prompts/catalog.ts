import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { messageOf } from '#contracts/errors'

const file = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: '^(?!/)(?!.*(?:^|/)\\.\\.(?:/|$)).*$',
  description: 'A path inside the prompts directory.',
})
const name = Type.String({ minLength: 1, maxLength: 64 })

/** `catalog.toml`: which files make up a system prompt. */
export const Catalog = Type.Object({
  version: Type.Literal(1),
  defaults: Type.Optional(Type.Object({ intent: Type.Optional(Type.String()), model_profile: Type.Optional(name) })),
  intents: Type.Optional(Type.Record(name, file)),
  model_profiles: Type.Optional(Type.Array(Type.Object({ name, match: name, file }), { maxItems: 200 })),
  extensions: Type.Optional(
    Type.Object({ behaviors_dir: Type.Optional(file), talents_dir: Type.Optional(file) }, { default: {} }),
  ),
})
export type Catalog = Readonly<Static<typeof Catalog>>

/** Reads a catalog; throws an error that says what is wrong with it. */
export async function parseCatalog(text: string): Promise<Catalog> {
  const { parse } = await import('smol-toml')
  let value: unknown
  try {
    value = parse(text)
  } catch (error) {
    throw new Error(`is not TOML: ${messageOf(error)}`, { cause: error })
  }
  const [wrong] = Value.Errors(Catalog, value)
  if (wrong) throw new Error(`${wrong.path.slice(1).replaceAll('/', '.') || 'the whole'}: ${wrong.message}`)
  return value as Catalog
}
