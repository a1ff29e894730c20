import { type Static, Type } from '@sinclair/typebox'

export const Config = Type.Object({
  mode: Type.Union([Type.Literal('full_auto'), Type.Literal('permissions')], {
    default: 'full_auto',
    setting: 'tool_approval_mode',
    description: 'permissions: a call that no rule matches is asked about, unless it reads or lists.',
  }),
})
export type Config = Readonly<Static<typeof Config>>
