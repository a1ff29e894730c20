import type { Verdict } from '#contracts/hooks'
import type { ActiveRun } from '#contracts/run/active-run'
import type { RunPolicy } from '#contracts/run/policy'
import type { ToolDefinition } from '#contracts/tool/tool'

/** Offered whatever `allowed_tools` says; `denied_tools` removes even these. */
const ALWAYS_AVAILABLE: ReadonlySet<string> = new Set(['AskUserQuestion', 'find_tool', 'skill'])
const OFFER = Symbol('offer')

const isAllowed = (name: string, { allowedTools }: RunPolicy): boolean =>
  allowedTools === undefined || allowedTools.includes(name) || ALWAYS_AVAILABLE.has(name)

/** The offer without what the lists rule out; the same array for the same offer, so that wires can cache it. */
export function offerByLists(tools: readonly ToolDefinition[], run: ActiveRun): readonly ToolDefinition[] {
  const { policy } = run
  if (policy.allowedTools === undefined && policy.deniedTools.length === 0) return tools
  const known = run.slot(OFFER, () => new WeakMap<readonly ToolDefinition[], readonly ToolDefinition[]>())
  const made =
    known.get(tools) ?? tools.filter(({ name }) => isAllowed(name, policy) && !policy.deniedTools.includes(name))
  known.set(tools, made)
  return made
}

/** Denies a call the lists rule out, also one that was never offered. */
export function gateByLists(name: string, { policy }: ActiveRun): Verdict | undefined {
  if (policy.deniedTools.includes(name))
    return { kind: 'deny', reason: 'tool_denied_for_run', output: `${name} is denied in this run` }
  if (isAllowed(name, policy)) return undefined
  return {
    kind: 'deny',
    reason: 'tool_not_in_allowed_tools',
    output: `${name} is not among the tools this run may use: ${policy.allowedTools?.join(', ')}`,
  }
}
