import { Failure } from '#contracts/errors'
import type { Admission, HookTable } from '#contracts/hooks'
import { type Identity, resolveTenant } from '#contracts/identity'
import type { RunPolicy } from '#contracts/run/policy'
import { RunRequest } from '#contracts/run/request'
import type { RunRecord } from '#contracts/run/run'
import { checkShape } from '../schema-check.js'
import { NO_PROGRESS } from './ledger.js'

/** Fields the kernel itself gives effect to; all others need a plugin that honours them. */
const HONOURED_BY_KERNEL: ReadonlySet<string> = new Set([
  'prompt',
  'model',
  'provider_name',
  'allow_fallback',
  'tenant_id',
  'conversation_id',
  'agent_id',
  'reasoning_effort',
  'attachments',
  'permissions.sandbox',
  'permissions.network',
])

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Values that ask for nothing: the same as leaving the field out. */
const NEUTRAL: Readonly<Record<string, unknown>> = { 'permissions.approval': 'none', 'permissions.unattended': 'wait' }

/** Checks a request field by field and lets plugins fill it in; throws the `Failure` that answers it. */
export async function admit(
  request: unknown,
  identity: Identity,
  hooks: HookTable,
  honoured: ReadonlySet<string>,
  previousRunId?: string,
): Promise<Admission> {
  const problem = checkShape(RunRequest, request)
  if (problem) throw new Failure('invalid_request', problem)
  const draft = request as RunRequest
  for (const [index, { data }] of (draft.attachments ?? []).entries())
    if (data.length % 4 !== 0 || !BASE64.test(data))
      throw new Failure('invalid_request', `attachments[${index}].data: must be base64, with its padding`)
  resolveTenant(identity, draft.tenant_id)
  refuseUnhonoured(draft, honoured)
  const admission: Admission = {
    request: draft,
    policy: policyOf(draft),
    identity,
    ...(previousRunId && { previousRunId }),
  }
  return hooks.runAdmitting.isUsed() ? hooks.runAdmitting.promise(admission) : admission
}

/** Throws for a field of the request that nobody gives effect to. */
export function refuseUnhonoured(request: RunRequest, honoured: ReadonlySet<string>): void {
  const known = Object.entries(request).filter(([field]) => Object.hasOwn(RunRequest.properties, field))
  const asked = known.flatMap(([field, value]) =>
    field === 'permissions'
      ? Object.entries(value ?? {}).map(([key, inner]) => [`permissions.${key}`, inner] as const)
      : [[field, value] as const],
  )
  for (const [field, value] of asked) {
    if (isNeutral(field, value) || HONOURED_BY_KERNEL.has(field) || honoured.has(field)) continue
    const message = `${field}: no running plugin gives effect to this field; leave it out or enable one`
    throw new Failure('not_implemented', message, { details: { field } })
  }
}

function isNeutral(field: string, value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false || value === 0) return true
  if (NEUTRAL[field] === value) return true
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && Object.values(value).every(inner => isNeutral(field, inner))
}

function policyOf({ permissions, rules, allowed_tools: allowed, denied_tools: denied }: RunRequest): RunPolicy {
  return Object.freeze({
    sandbox: permissions?.sandbox || 'workspace',
    approval: permissions?.approval || 'none',
    toolApproval: 'full_auto',
    network: permissions?.network || 'allow',
    unattended: permissions?.unattended || 'wait',
    rules: Object.freeze([...(permissions?.rules ?? []), ...(rules ?? [])]),
    ...(allowed?.length && { allowedTools: Object.freeze([...allowed]) }),
    deniedTools: Object.freeze([...(denied ?? [])]),
  })
}

/** The record of a run that was just admitted. */
export function recordOf(
  { request, policy, identity, previousRunId }: Admission,
  run: { readonly id: string; readonly model: string; readonly nowMs: number },
): RunRecord {
  const at = new Date(run.nowMs).toISOString()
  const label = resolveTenant(identity, request.tenant_id)
  return {
    id: run.id,
    prompt: request.prompt,
    model: request.model || run.model,
    ...(request.provider_name && { provider_name: request.provider_name }),
    status: 'queued',
    tenant_id: identity.tenantId,
    ...(label !== identity.tenantId && { tenant_label: label }),
    conversation_id: request.conversation_id || run.id,
    agent_id: request.agent_id || 'default',
    usage_totals: { prompt_tokens_total: 0, completion_tokens_total: 0, total_tokens: 0, last_turn_tokens: 0 },
    cost_totals: { cost_usd_total: 0, last_turn_cost_usd: 0, cost_status: 'pending' },
    ...(request.parent_context_handoff && { parent_context_handoff: request.parent_context_handoff }),
    created_at: at,
    updated_at: at,
    request,
    policy,
    progress: NO_PROGRESS,
    ...(identity.keyPrefix && { initiator_api_key_prefix: identity.keyPrefix }),
    ...(previousRunId && { previous_run_id: previousRunId }),
  }
}
