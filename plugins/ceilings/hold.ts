import { Failure } from '#contracts/errors'
import type { Admission } from '#contracts/hooks'
import type { RunRequest } from '#contracts/run/request'
import type { Ceiling } from './config.js'
import { holdRoots } from './hold-roots.js'

/** What the ceilings need to know of the daemon. */
export interface Deployment {
  readonly workspace: string
  /** Fields that running plugins give effect to. */
  readonly honoured: ReadonlySet<string>
}

const REACH = ['workspace', 'local', 'unrestricted'] as const

/**
 * Refuses what a request asks above the ceiling, naming field and limit; nothing that was asked for is lowered. What it
 * leaves open (no number, no network) is filled in from the ceiling.
 */
export async function hold(admission: Admission, ceiling: Ceiling, place: Deployment): Promise<Admission> {
  const { request, policy } = admission
  const { network } = ceiling
  if (network === 'deny' && request.permissions?.network === 'allow') throw aboveNetwork()
  const held = {
    ...(await holdReach(admission, ceiling, place)),
    ...holdNumber(request, 'max_steps', ceiling.max_steps, place),
    ...holdNumber(request, 'max_cost_usd', ceiling.max_cost_usd, place),
  }
  if (network !== 'deny' && Object.keys(held).length === 0) return admission
  return {
    ...admission,
    request: { ...request, ...held },
    policy: network === 'deny' ? { ...policy, network } : policy,
  }
}

/** Refuses a run that reaches further than the ceiling. Numbers bound what is spent on a run, not what it may do. */
export async function holdDirected(
  run: Pick<Admission, 'request' | 'policy'>,
  ceiling: Ceiling,
  place: Pick<Deployment, 'workspace'>,
): Promise<void> {
  if (ceiling.network === 'deny' && run.policy.network === 'allow') throw aboveNetwork()
  await holdReach(run, ceiling, place)
}

async function holdReach(
  { request, policy }: Pick<Admission, 'request' | 'policy'>,
  { max_sandbox: maxSandbox, stdio_servers: mayStart, roots }: Ceiling,
  { workspace }: Pick<Deployment, 'workspace'>,
): Promise<Partial<RunRequest>> {
  if (maxSandbox && REACH.indexOf(policy.sandbox) > REACH.indexOf(maxSandbox))
    throw above(
      'permissions.sandbox',
      `${policy.sandbox} is above the ceiling; at most ${maxSandbox} is allowed`,
      maxSandbox,
    )
  const server = mayStart === false ? request.mcp_servers?.findIndex(({ command }) => command) : undefined
  if (server !== undefined && server >= 0)
    throw above(
      `mcp_servers[${server}].command`,
      'tool servers started as commands are not allowed; use one with a url',
      false,
    )
  return holdRoots(request, roots, workspace, above)
}

const aboveNetwork = (): Failure =>
  above('permissions.network', 'allow is above the ceiling; only deny is allowed', 'deny')

/** 0 and nothing ask for no limit of one's own; the ceiling is the limit then. */
function holdNumber(
  request: RunRequest,
  field: 'max_steps' | 'max_cost_usd',
  most: number | undefined,
  { honoured }: Deployment,
): Partial<RunRequest> {
  const asked = request[field]
  if (most === undefined) return {}
  if (!honoured.has(field))
    throw new Failure(
      'not_implemented',
      `${field}: the ceiling sets one, and no running plugin keeps it; enable \`budgets\``,
      {
        details: { field },
      },
    )
  if (!asked) return { [field]: most }
  if (asked > most) throw above(field, `${asked} is above the ceiling; at most ${most} is allowed`, most)
  return {}
}

const above = (field: string, why: string, allowed: unknown): Failure =>
  new Failure('forbidden', `${field}: ${why}`, { details: { field, allowed } })
export type Above = typeof above
