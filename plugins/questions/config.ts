import { type Static, Type } from '@sinclair/typebox'

const LONGEST_WAIT_SECONDS = 86_400

export const Config = Type.Object({
  timeout_seconds: Type.Number({
    default: 300,
    exclusiveMinimum: 0,
    maximum: LONGEST_WAIT_SECONDS,
    setting: 'ask_user_timeout_seconds',
    description: 'How long a run waits for an answer to its question.',
  }),
})
export type Config = Readonly<Static<typeof Config>>
