import { type Static, Type } from '@sinclair/typebox'
import { ToolApproval } from '#contracts/run/policy'

export const Config = Type.Object({
  timeout_seconds: Type.Number({
    default: 300,
    exclusiveMinimum: 0,
    setting: 'ask_user_timeout_seconds',
    description: 'How long a call waits for somebody’s word.',
  }),
  mode: Type.Union(ToolApproval.anyOf, {
    default: 'full_auto',
    setting: 'tool_approval_mode',
    description: 'permissions: whatever is not reading or listing needs a rule that allows it, or an approval.',
  }),
})
export type Config = Readonly<Static<typeof Config>>
