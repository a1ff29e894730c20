import type { Verdict } from '#contracts/hooks'
import type { ActiveRun } from '#contracts/run/active-run'
import type { ToolDefinition } from '#contracts/tool/tool'

const NOTE = 'tool-catalog.activated'
const OFFER = Symbol('tool-catalog.offer')

/** Names of the deferred tools this run has activated, oldest first; they survive a restart. */
export const activatedIn = (run: ActiveRun): readonly string[] => (run.note(NOTE) as string[] | undefined) ?? NONE
const NONE: readonly string[] = Object.freeze([])

/** Activates tools for the rest of the run. Returns those that were not active before. */
export function activate(run: ActiveRun, names: readonly string[]): readonly string[] {
  const before = activatedIn(run)
  const added = names.filter(name => !before.includes(name))
  if (added.length > 0) run.setNote(NOTE, [...before, ...added])
  return added
}

interface Offer {
  readonly from: readonly ToolDefinition[]
  readonly activated: readonly string[]
  readonly made: readonly ToolDefinition[]
}

/** The offer with what was activated at its end: the same array as before while neither changed, so that wires cache it. */
export function offerActivated(tools: readonly ToolDefinition[], run: ActiveRun): readonly ToolDefinition[] {
  const activated = activatedIn(run)
  if (activated.length === 0) return tools
  const slot = run.slot<{ last?: Offer }>(OFFER, () => ({}))
  if (slot.last?.from === tools && slot.last.activated === activated) return slot.last.made
  const offered = new Set(tools)
  const added = activated.map(name => run.tools.get(name)).filter(tool => tool !== undefined && !offered.has(tool))
  slot.last = { from: tools, activated, made: [...tools, ...(added as ToolDefinition[])] }
  return slot.last.made
}

/** Denies a deferred tool nobody activated, also when the model guessed its name. */
export function gateByActivation({ name, tier }: ToolDefinition, run: ActiveRun): Verdict | undefined {
  if (tier !== 'deferred' || activatedIn(run).includes(name)) return undefined
  return {
    kind: 'deny',
    reason: 'tool_not_activated',
    output: `${name} is not active in this run. Call find_tool with {"query":"select:${name}"} first.`,
  }
}
