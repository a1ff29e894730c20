import { type Static, Type } from '@sinclair/typebox'

const oneOf = <const V extends readonly string[]>(values: V) =>
  Type.Union(values.map(value => Type.Literal(value as V[number])))

/** A fine-grained effect on tool calls. `pattern` is `tool` or `tool(argument pattern)`. */
export const PermissionRule = Type.Object(
  { pattern: Type.String({ minLength: 1, maxLength: 4096 }), effect: oneOf(['allow', 'ask', 'deny']) },
  { additionalProperties: false },
)
export type PermissionRule = Readonly<Static<typeof PermissionRule>>

export const SandboxScope = oneOf(['workspace', 'local', 'unrestricted'])
export type SandboxScope = Static<typeof SandboxScope>

export const NetworkAccess = oneOf(['allow', 'deny'])
export type NetworkAccess = Static<typeof NetworkAccess>

export const ApprovalPolicy = oneOf(['none', 'destructive', 'all'])
export type ApprovalPolicy = Static<typeof ApprovalPolicy>

/** `permissions`: a call that neither reads nor lists needs a rule that allows it, or a person. `full_auto`: it does not. */
export const ToolApproval = oneOf(['full_auto', 'permissions'])
export type ToolApproval = Static<typeof ToolApproval>

/** `permissions` of a run request; an absent or empty value means the default. A key that is not known is refused. */
export const Permissions = Type.Object(
  {
    sandbox: Type.Optional(Type.Union([SandboxScope, Type.Literal('')])),
    approval: Type.Optional(Type.Union([ApprovalPolicy, Type.Literal('')])),
    network: Type.Optional(Type.Union([NetworkAccess, Type.Literal('')])),
    rules: Type.Optional(Type.Array(PermissionRule, { maxItems: 1000 })),
    unattended: Type.Optional(oneOf(['wait', 'deny', 'fail', ''])),
  },
  { additionalProperties: false },
)
export type Permissions = Readonly<Static<typeof Permissions>>

/**
 * What a run may do, decided at admission and frozen: no reload, prompt or tool loosens it afterwards.
 * `allowedTools` undefined means every tool that is offered at all.
 */
export interface RunPolicy {
  readonly sandbox: SandboxScope
  readonly approval: ApprovalPolicy
  /** The deployment's mode at admission; what is set later concerns later runs. */
  readonly toolApproval: ToolApproval
  readonly network: NetworkAccess
  readonly rules: readonly PermissionRule[]
  /** What a call that needs somebody's word does when nobody is there: wait (default), be denied, or fail the run. */
  readonly unattended: 'wait' | 'deny' | 'fail'
  readonly allowedTools?: readonly string[]
  readonly deniedTools: readonly string[]
}
