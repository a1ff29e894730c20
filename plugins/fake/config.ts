import { type Static, Type } from '@sinclair/typebox'

/** Settings of the plugin; the daemon's own variables fill them. */
export const FakeConfig = Type.Object({
  provider: Type.String({ default: '', setting: 'provider', description: '`fake` switches this plugin on.' }),
  turns_file: Type.String({ default: '', setting: 'fake_turns', description: 'JSON array of turns.' }),
  model: Type.String({ default: '', setting: 'model', description: 'Model of a run that names none.' }),
})
export type FakeConfig = Readonly<Static<typeof FakeConfig>>
