import { type Static, Type } from '@sinclair/typebox'
import { ToolApproval } from '#contracts/run/policy'

export const Config = Type.Object({
  mode: Type.Union(ToolApproval.anyOf, {
    default: 'full_auto',
    setting: 'tool_approval_mode',
    description: 'permissions: a call that no rule matches is asked about, unless it reads or lists.',
  }),
})
export type Config = Readonly<Static<typeof Config>>
