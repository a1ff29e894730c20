import { type Static, Type } from '@sinclair/typebox'

export const Config = Type.Object({
  systemPrompt: Type.String({
    default: '',
    setting: 'system_prompt',
    description: 'Takes the place of the catalog’s base prompt, its default intent and its model profiles.',
  }),
  defaultIntent: Type.String({ default: '', setting: 'default_agent_intent' }),
  promptsDir: Type.String({ default: '', setting: 'prompts_dir', description: 'Empty: the prompts that ship.' }),
  isWatching: Type.Boolean({
    default: true,
    setting: 'watch_enabled',
    description: 'Read changed files of prompts_dir again, at most every five seconds.',
  }),
})
export type Config = Readonly<Static<typeof Config>>
