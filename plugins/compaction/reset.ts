import { Type } from '@sinclair/typebox'
import type { ActiveRun } from '#contracts/run/active-run'
import { defineTool } from '#contracts/tool/tool'

const MAX_CHARS = 64 * 1024
const PENDING = 'compaction.reset'
const COUNT = 'compaction.resets'

interface PendingReset {
  readonly step: number
  readonly persist: Readonly<Record<string, unknown>>
}

/** `reset_context`: the model starts over with what it chose to keep. */
export const resetTool = defineTool({
  name: 'reset_context',
  description:
    'Forget the whole conversation, the task included, and go on from `persist` alone. Put in everything you still need: the task in full, decisions, paths, results, next steps. Takes effect before your next turn and cannot be undone.',
  parameters: Type.Object({
    persist: Type.Record(Type.String(), Type.Unknown(), { description: 'All that you will remember.' }),
  }),
  action: 'execute',
  tier: 'deferred',
  tags: ['context', 'memory'],
  async execute({ persist }, { run }) {
    const size = JSON.stringify(persist).length
    if (size === 2) return { error: 'persist: is empty; nothing would be left of the task' }
    if (size > MAX_CHARS) return { error: `persist: has ${size} characters as JSON; at most ${MAX_CHARS} are kept` }
    run.setNote(PENDING, { step: run.step, persist } satisfies PendingReset)
    return { output: { reset_index: countOf(run), takes_effect: 'before your next turn' } }
  },
})

/** Carries out a reset asked for in the step before, when every call of that step has its result. */
export function applyReset(run: ActiveRun): void {
  const pending = run.note(PENDING) as PendingReset | null | undefined
  if (!pending) return
  const index = countOf(run)
  const kept = JSON.stringify(pending.persist, undefined, 2)
  run.rewriteTranscript([
    { role: 'user', content: `The conversation was reset. This is what you kept of it:\n\n${kept}`, is_meta: true },
  ])
  run.setNote(COUNT, index + 1)
  run.setNote(PENDING, null)
  run.emit('context.reset', { reset_index: index, at_step: pending.step, persist: pending.persist })
}

const countOf = (run: ActiveRun): number => (run.note(COUNT) as number | undefined) ?? 0
