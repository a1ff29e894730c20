import type { RunRecord } from '#contracts/run/run'

/**
 * The parts of a record that are large and the same in every commit: they are stored once, beside the rest. Which
 * request a run was last stored with is remembered by identity, as records are replaced and never mutated.
 */
export interface DraftMemory {
  text(record: RunRecord): string
  isStored(record: RunRecord): boolean
  stored(record: RunRecord): void
}

type Draft = Pick<RunRecord, 'prompt' | 'request' | 'policy'>

export function createDraftMemory(): DraftMemory {
  const stored = new WeakMap<RunRecord['request'], { readonly runId: string } & Draft>()
  return {
    text: ({ prompt, request, policy }) => JSON.stringify({ prompt, request, policy }),
    isStored({ id, prompt, request, policy }) {
      const known = stored.get(request)
      return known?.runId === id && known.prompt === prompt && known.policy === policy
    },
    stored({ id, prompt, request, policy }) {
      stored.set(request, { runId: id, prompt, request, policy })
    },
  }
}

/** The record without its draft. */
export function recordText({ prompt: _prompt, request: _request, policy: _policy, ...rest }: RunRecord): string {
  return JSON.stringify(rest)
}

export const recordFrom = (record: string, draft: string): RunRecord => ({
  ...(JSON.parse(record) as Omit<RunRecord, keyof Draft>),
  ...(JSON.parse(draft) as Draft),
})
