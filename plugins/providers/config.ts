import { type Static, Type } from '@sinclair/typebox'

/** Settings of the plugin; the daemon's own fill them. */
export const ProvidersConfig = Type.Object({
  provider: Type.String({ default: '', setting: 'provider', description: 'Provider of every run that names none.' }),
  model: Type.String({ default: '', setting: 'model', description: 'Model of a run that names none.' }),
  key_secret: Type.String({
    default: '',
    setting: 'provider_keys.secret',
    secret: true,
    description: 'What keys given over the API are encrypted with on disk; empty: they stay in memory.',
  }),
})
export type ProvidersConfig = Readonly<Static<typeof ProvidersConfig>>
