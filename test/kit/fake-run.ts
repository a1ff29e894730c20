import type { EventDraft } from '#contracts/hooks'
import type { ActiveRun } from '#contracts/run/active-run'
import type { Message } from '#contracts/run/message'

/** A run for unit tests of tools and taps: in memory, with what was emitted at hand. */
export interface FakeRun extends ActiveRun {
  readonly emitted: readonly EventDraft[]
}

/** `overrides` replace properties and methods, also the recording ones. Waiting throws unless overridden. */
export function fakeRun(overrides: Partial<ActiveRun> = {}): FakeRun {
  const emitted: EventDraft[] = []
  const transcript: Message[] = []
  const notes = new Map<string, unknown>()
  const slots = new Map<symbol, unknown>()
  const run: FakeRun = {
    emitted,
    id: 'run_fake',
    tenantId: 'default',
    conversationId: 'run_fake',
    agentId: 'default',
    request: { prompt: 'hello' },
    policy: {
      sandbox: 'unrestricted',
      approval: 'none',
      toolApproval: 'full_auto',
      network: 'allow',
      rules: [],
      unattended: 'wait',
      deniedTools: [],
    },
    status: 'running',
    isResumed: false,
    model: 'fake-model',
    provider: 'fake',
    workspace: { root: process.cwd(), extraDirs: [] },
    step: 1,
    turns: 0,
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    usageTotals: { prompt_tokens_total: 0, completion_tokens_total: 0, total_tokens: 0, last_turn_tokens: 0 },
    costTotals: { cost_usd_total: 0, last_turn_cost_usd: 0, cost_status: 'pending' },
    startedAtMs: 0,
    signal: new AbortController().signal,
    transcript,
    tools: new Map(),
    consult: async () => {
      throw new Error('this fake run has no provider: override `consult`')
    },
    emit: (type, payload) => void emitted.push({ type, payload }),
    durable: async () => undefined,
    addMessages: messages => void transcript.push(...messages),
    rewriteTranscript: messages => void transcript.splice(0, transcript.length, ...messages),
    wait: async () => {
      throw new Error('this fake run cannot wait: override `wait`')
    },
    takeLetters: async () => [],
    note: key => notes.get(key),
    setNote: (key, value) => void notes.set(key, structuredClone(value)),
    slot<T>(key: symbol, create: () => T): T {
      if (!slots.has(key)) slots.set(key, create())
      return slots.get(key) as T
    },
    setRecap: () => undefined,
  }
  return Object.defineProperties(run, Object.getOwnPropertyDescriptors(overrides))
}
