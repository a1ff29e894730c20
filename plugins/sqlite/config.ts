import { type Static, Type } from '@sinclair/typebox'

/** Paths of the database files; empty switches the database off. */
export const SqliteConfig = Type.Object({
  run_db: Type.String({ default: '', setting: 'run_db', description: 'Runs, event logs and API keys.' }),
  conversation_db: Type.String({ default: '', setting: 'conversation_db', description: 'Message histories.' }),
  relay_db: Type.String({ default: '', setting: 'relay_db', description: 'Records of the relay.' }),
  state_dir: Type.String({
    default: '',
    setting: 'state_dir',
    description: 'Where `state.db` is made when a plugin first keeps something there.',
  }),
})
export type SqliteConfig = Readonly<Static<typeof SqliteConfig>>
