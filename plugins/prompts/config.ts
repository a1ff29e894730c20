import { type Static, Type } from '@sinclair/typebox'

export const Config = Type.Object({
  system_prompt: Type.String({
    default: '',
    setting: 'system_prompt',
    description: 'Takes the place of the catalog’s base prompt, its default intent and its model profiles.',
  }),
  default_intent: Type.String({ default: '', setting: 'default_agent_intent' }),
  prompts_dir: Type.String({ default: '', setting: 'prompts_dir', description: 'Empty: the prompts that ship.' }),
  watch: Type.Boolean({
    default: true,
    setting: 'watch_enabled',
    description: 'Read changed files of prompts_dir again, at most every five seconds.',
  }),
})
export type Config = Readonly<Static<typeof Config>>
