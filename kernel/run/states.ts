import type { RunStatus } from '#contracts/run/run'

/** Every legal move of a run, in one place. `cancelling` is a wish on record, not a status. */
const MOVES: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  queued: ['running', 'failed', 'cancelled'],
  running: ['waiting_for_user', 'waiting_for_approval', 'completed', 'failed', 'cancelled'],
  waiting_for_user: ['running', 'failed', 'cancelled'],
  waiting_for_approval: ['running', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
}

/** Throws for a move the table does not have: a defect, never an outcome. */
export function moveTo(from: RunStatus, to: RunStatus): RunStatus {
  if (from === to) return to
  if (!MOVES[from].includes(to)) throw new Error(`a run cannot go from ${from} to ${to}`)
  return to
}
