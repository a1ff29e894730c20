import { type Static, Type } from '@sinclair/typebox'

/** Settings of the plugin, as `[plugins.model-settings]` takes them. */
export const ModelSettingsConfig = Type.Object({
  directory: Type.String({
    default: '',
    setting: 'global_dir',
    description:
      'Keys given over the API are kept in `model-keys` beneath it; `file:` names files in `secrets` beneath it.',
  }),
  key_directories: Type.Array(Type.String({ pattern: '^/', maxLength: 4096 }), {
    default: [],
    maxItems: 20,
    description: 'Absolute paths of further directories with key files, `/run/secrets` for example.',
  }),
  key_variables: Type.Array(Type.String({ pattern: '^[A-Z][A-Z0-9_]*$', maxLength: 128 }), {
    default: [],
    maxItems: 200,
    description: 'Variables that `env:` may name; empty: those that end in _KEY or _TOKEN.',
  }),
})
export type ModelSettingsConfig = Readonly<Static<typeof ModelSettingsConfig>>
