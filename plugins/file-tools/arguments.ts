import { Type } from '@sinclair/typebox'

type Args = Readonly<Record<string, unknown>>

/** Moves aliases onto the real parameter where that is absent; everything else stays. */
export function renamed(args: Args, aliases: Readonly<Record<string, string>>): Args {
  const result: Record<string, unknown> = { ...args }
  for (const [alias, name] of Object.entries(aliases)) {
    if (!Object.hasOwn(result, alias)) continue
    if (result[name] === undefined) result[name] = result[alias]
    delete result[alias]
  }
  return result
}

export const PATH_ALIASES = { file_path: 'path' } as const
export const OLD_NEW_ALIASES = { old_string: 'old_text', new_string: 'new_text' } as const

export const PathParameter = Type.String({
  minLength: 1,
  maxLength: 4096,
  description: 'Relative to the workspace root, or absolute beneath it.',
})

export const ExpectedVersion = Type.Optional(
  Type.String({
    maxLength: 64,
    description: 'The version you last saw (from read, write, edit). The call fails if the file changed since.',
  }),
)
