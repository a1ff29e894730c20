import { type Static, Type } from '@sinclair/typebox'

/** Settings of the plugin: `[plugins.working-days]` in the config file. */
export const Config = Type.Object({
  holidays: Type.Array(Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }), {
    default: [],
    description: 'Days nobody works, YYYY-MM-DD.',
  }),
})
export type Config = Readonly<Static<typeof Config>>
