import type {
  ModelAnswer,
  ModelCandidate,
  ModelFailure,
  ModelOutcome,
  ModelPart,
  ModelRequest,
} from '#contracts/model/client'
import type { SideQuestion } from '#contracts/run/active-run'
import type { DaemonSettings } from '#contracts/settings'
import { sleep } from '#contracts/sleep'
import { unlessAborted } from '../waits.js'
import type { LiveRun } from './live-run.js'

export type RetryBounds = Pick<DaemonSettings, 'retryMaxAttempts' | 'retryMaxTotalSec'>

export interface AnsweredTurn {
  readonly kind: 'answered'
  readonly answer: ModelAnswer
  readonly candidate: ModelCandidate
  readonly totalMs: number
  readonly firstTokenMs: number
}

export type TurnOutcome =
  | AnsweredTurn
  | { readonly kind: 'failed'; readonly failure: ModelFailure; readonly provider: string }

/** Not tried again, for it may have been paid for; another provider may still answer. */
const GATEWAY_TIMEOUT = 504
const FIRST_BACKOFF_MS = 500
const LONGEST_WAIT_MS = 30_000
const JITTER = 0.5

/**
 * Has one turn answered: each candidate gets its retries, then the next one may try, and stays the run's from then on. Once
 * a piece of an answer was shown nothing is asked again, so no output is ever doubled.
 */
export async function takeTurn(
  run: LiveRun,
  candidates: readonly ModelCandidate[],
  request: ModelRequest,
  bounds: RetryBounds,
): Promise<TurnOutcome> {
  const present = run.candidate ? candidates.indexOf(run.candidate) : -1
  for (let index = Math.max(present, 0); ; index++) {
    const candidate = candidates[index] as ModelCandidate
    const ask = () => askOnce(run, candidate, { ...request, model: candidate.model }, createShow(run))
    const outcome = await withRetries(run, bounds, ask)
    if (outcome.kind === 'answered') return outcome
    const next = candidates[index + 1]
    const { failure, hasShown } = outcome
    const mayPass = failure.category === 'retryable' || failure.status === GATEWAY_TIMEOUT
    const mayFallBack = run.request.allow_fallback && !hasShown && mayPass
    if (!next || !mayFallBack) return { kind: 'failed', failure, provider: candidate.provider }
    run.emit('prompt.warning', {
      code: 'provider_fallback',
      message: `${candidate.provider} could not answer; ${next.provider} is asked instead`,
      step: run.step,
      from_provider: candidate.provider,
      to_provider: next.provider,
      reason: failure.message,
    })
    run.candidate = next
    run.update({ provider_name: next.provider, model: next.model })
    run.emit('provider.resolved', { model: next.model, provider: next.provider })
  }
}

type Asked = AnsweredTurn | { readonly kind: 'failed'; readonly failure: ModelFailure; readonly hasShown: boolean }

/** Asks again, after a wait, while the failure may pass, nothing was shown, and attempts and time are left. */
async function withRetries(run: LiveRun, bounds: RetryBounds, ask: () => Promise<Asked>): Promise<Asked> {
  const startedAt = performance.now()
  for (let attempt = 1; ; attempt++) {
    const asked = await ask()
    if (asked.kind === 'answered' || asked.hasShown || asked.failure.category !== 'retryable') return asked
    const leftMs = bounds.retryMaxTotalSec * 1000 - (performance.now() - startedAt)
    if (attempt >= bounds.retryMaxAttempts || leftMs <= 0) return asked
    await sleep(Math.min(waitBefore(attempt, asked.failure), leftMs), run.signal)
  }
}

function waitBefore(attempt: number, failure: ModelFailure): number {
  if (failure.retryAfterMs !== undefined) return Math.min(failure.retryAfterMs, LONGEST_WAIT_MS)
  const base = Math.min(FIRST_BACKOFF_MS * 2 ** (attempt - 1), LONGEST_WAIT_MS)
  return Math.min(base * (1 + Math.random() * JITTER), LONGEST_WAIT_MS)
}

type Show = (part: ModelPart) => void

async function askOnce(run: LiveRun, candidate: ModelCandidate, request: ModelRequest, show?: Show): Promise<Asked> {
  run.signal.throwIfAborted()
  const startedAt = performance.now()
  let firstAt: number | undefined
  const part = (piece: ModelPart): void => {
    firstAt ??= performance.now()
    show?.(piece)
  }
  const answering = candidate.client.answer(request, { part, drained: () => run.drained() }, run.signal)
  const outcome = await unlessAborted(answering, run.signal)
  run.signal.throwIfAborted()
  if (outcome.kind === 'failed') return { ...outcome, hasShown: show !== undefined && firstAt !== undefined }
  const endedAt = performance.now()
  return {
    kind: 'answered',
    answer: outcome,
    candidate,
    totalMs: Math.round(endedAt - startedAt),
    firstTokenMs: Math.round((firstAt ?? endedAt) - startedAt),
  }
}

/** Shows the pieces of one answer as events; ids and names of its calls come once and go with every piece. */
function createShow(run: LiveRun): Show {
  const { step } = run
  const calls = new Map<number, { id: string; name: string }>()
  return part => {
    if (part.kind === 'text') return run.emit('assistant.message.delta', { step, content: part.text })
    if (part.kind === 'thinking') return run.emit('assistant.thinking.delta', { step, content: part.text })
    const { index, id, name, arguments: args } = part
    const call = calls.get(index) ?? { id: '', name: '' }
    if (id !== undefined) call.id = id
    if (name !== undefined) call.name = name
    calls.set(index, call)
    run.emit('tool.call.delta', { step, index, call_id: call.id, tool: call.name, arguments: args })
  }
}

/** A question on the side: the same retries, nothing shown. */
export async function askAside(
  run: LiveRun,
  candidate: ModelCandidate,
  { system, messages }: SideQuestion,
  bounds: RetryBounds,
): Promise<ModelOutcome> {
  const request: ModelRequest = {
    model: candidate.model,
    system,
    messages,
    trailing: [],
    tools: [],
    runId: run.id,
    conversationId: run.conversationId,
    step: run.step,
  }
  const asked = await withRetries(run, bounds, () => askOnce(run, candidate, request))
  if (asked.kind === 'failed') return { kind: 'failed', failure: asked.failure }
  run.ledger.bookAside(asked.answer, candidate)
  return asked.answer
}
