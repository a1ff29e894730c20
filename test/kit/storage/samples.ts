import type { StoredEvent } from '#contracts/event/envelope'
import type { RunRecord } from '#contracts/run/run'

/** A store under test. `reopen` ends it and opens what it kept; absent for stores that end with the process. */
export interface OpenStore<Store> {
  readonly store: Store
  reopen?(): Promise<OpenStore<Store>>
  close(): Promise<void>
}

export type StoreOpener<Store> = () => Promise<OpenStore<Store>>

export const AT = '2026-01-01T00:00:00.000Z'

/** A run record with everything a store may look at. */
export const aRun = (id: string, over: Partial<RunRecord> = {}): RunRecord => ({
  id,
  prompt: `do ${id}`,
  model: 'fake-model',
  status: 'running',
  created_at: AT,
  updated_at: AT,
  tenant_id: 'default',
  conversation_id: `conv-${id}`,
  agent_id: 'agent',
  usage_totals: { prompt_tokens_total: 0, completion_tokens_total: 0, total_tokens: 0, last_turn_tokens: 0 },
  cost_totals: { cost_usd_total: 0, last_turn_cost_usd: 0, cost_status: 'pending' },
  request: { prompt: `do ${id}` } as RunRecord['request'],
  policy: {
    sandbox: 'workspace',
    approval: 'none',
    toolApproval: 'full_auto',
    network: 'allow',
    rules: [],
    unattended: 'wait',
    deniedTools: [],
  },
  progress: {
    step: 0,
    turns: 0,
    requested: 0,
    cached_prompt_tokens: 0,
    tool_calls: [],
    cost_pico_usd: '0',
    next_seq: 0,
  },
  ...over,
})

/** `count` events from `first` on; text with everything that could break a row. */
export const eventsOf = (runId: string, first: number, count: number): StoredEvent[] =>
  Array.from({ length: count }, (_, index) => {
    const seq = first + index
    const payload = { text: `"é\u{1f600}\\n'${seq}` }
    return { seq, type: 'assistant.message.delta', data: JSON.stringify({ id: `${runId}:${seq}`, payload }) }
  })

export const seqs = (events: readonly StoredEvent[]): number[] => events.map(event => event.seq)
