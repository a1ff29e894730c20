import type { ActiveRun } from '#contracts/run/active-run'

/**
 * `early`: the history may still be on its way into the transcript. `open`: the transcript is the conversation. `closed`:
 * the run is settling, and what it said is being stored.
 */
type Phase = 'early' | 'open' | 'closed'

const PHASE = Symbol('compaction.phase')

const held = (run: ActiveRun): { phase: Phase } => run.slot(PHASE, () => ({ phase: 'early' as Phase }))

export const phaseOf = (run: ActiveRun): Phase => held(run).phase

export function enter(run: ActiveRun, phase: Phase): void {
  held(run).phase = phase
}

/** Does the run work, or wait for its user? */
export const mayCompact = (run: ActiveRun): boolean =>
  (run.status === 'running' || run.status === 'waiting_for_user') && phaseOf(run) !== 'closed'
