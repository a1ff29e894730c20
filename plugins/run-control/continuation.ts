import type { Permissions } from '#contracts/run/policy'
import type { RunRequest } from '#contracts/run/request'
import type { RunRecord } from '#contracts/run/run'

/** What a caller may say about the next run. */
export interface ContinuationWish {
  readonly prompt: string
  readonly allowed_tools?: readonly string[]
  readonly permissions?: Permissions
}

/** Fields a continuation takes from the run it continues, besides model, conversation and tenant. */
const INHERITED = [
  'agent_id',
  'system_prompt',
  'max_cost_usd',
  'permissions',
  'rules',
  'role_models',
  'allowed_tools',
  'denied_tools',
  'profile',
  // Where the answers come from and where the work is: part of what the model and the permissions of the source meant.
  'provider_name',
  'allow_fallback',
  'fallback_providers',
  'workspace_type',
  'workspace_path',
  'extra_dirs',
] as const satisfies readonly (keyof RunRequest)[]

/**
 * The request of the run that continues `source`. What is given replaces what is inherited, permissions one by one: naming
 * one loosens no other. An empty text or list says nothing. `rules` and `denied_tools` always stay: a continuation cannot drop them.
 */
export function continuationOf(source: RunRecord, wish: ContinuationWish): RunRequest {
  const { request } = source
  const inherited: Record<string, unknown> = {}
  for (const field of INHERITED) if (request[field] !== undefined) inherited[field] = request[field]
  return {
    ...inherited,
    prompt: wish.prompt,
    model: request.model || source.model,
    conversation_id: source.conversation_id,
    ...tenantOf(source),
    ...(wish.allowed_tools?.length && { allowed_tools: [...wish.allowed_tools] }),
    ...(wish.permissions && { permissions: { ...request.permissions, ...said(wish.permissions) } }),
  }
}

/** Without what says nothing: to a run that starts anew it means the default, which may be looser than what is inherited. */
const said = (permissions: Permissions): Permissions =>
  Object.fromEntries(Object.entries(permissions).filter(([, value]) => value?.length))

/** The request that does once more what `source` did: everything it was admitted with, in its conversation. */
export const replayOf = (source: RunRecord): RunRequest => ({
  ...source.request,
  model: source.request.model || source.model,
  conversation_id: source.conversation_id,
  ...tenantOf(source),
})

/** With auth off a run may carry the name of a tenant; it stays with its successors. */
const tenantOf = ({ tenant_label: label }: RunRecord): Pick<RunRequest, 'tenant_id'> =>
  label === undefined ? {} : { tenant_id: label }
