import { type Static, Type } from '@sinclair/typebox'

/** Settings of the plugin: `[plugins.parrot]` in the config file. */
export const Config = Type.Object({
  word_delay_ms: Type.Integer({ default: 0, minimum: 0, maximum: 10_000, description: 'Pause before each word.' }),
})
export type Config = Readonly<Static<typeof Config>>
