import type {
  ModelAnswer,
  ModelCandidate,
  ModelFailure,
  ModelOutcome,
  ModelPart,
  ModelRequest,
} from '#contracts/model/client'
import type { SideQuestion } from '#contracts/run/active-run'
import { sleep, unlessAborted } from './interrupt.js'
import type { LiveRun } from './live-run.js'

/** Bounds of SVC_RETRY_*. */
export interface RetryBounds {
  readonly maxAttempts: number
  readonly maxTotalSec: number
}

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
    const outcome = await askWithRetries(run, candidate, { ...request, model: candidate.model }, bounds)
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

async function askWithRetries(
  run: LiveRun,
  candidate: ModelCandidate,
  request: ModelRequest,
  bounds: RetryBounds,
): Promise<Asked> {
  const startedAt = performance.now()
  const budgetMs = bounds.maxTotalSec * 1000
  for (let attempt = 1; ; attempt++) {
    const asked = await askOnce(run, candidate, request)
    if (asked.kind === 'answered' || asked.hasShown || asked.failure.category !== 'retryable') return asked
    const leftMs = budgetMs - (performance.now() - startedAt)
    if (attempt >= bounds.maxAttempts || leftMs <= 0) return asked
    await sleep(Math.min(waitBefore(attempt, asked.failure), leftMs), run.signal)
  }
}

function waitBefore(attempt: number, failure: ModelFailure): number {
  if (failure.retryAfterMs !== undefined) return Math.min(failure.retryAfterMs, LONGEST_WAIT_MS)
  const base = Math.min(FIRST_BACKOFF_MS * 2 ** (attempt - 1), LONGEST_WAIT_MS)
  return Math.min(base * (1 + Math.random() * JITTER), LONGEST_WAIT_MS)
}

async function askOnce(run: LiveRun, candidate: ModelCandidate, request: ModelRequest): Promise<Asked> {
  run.signal.throwIfAborted()
  const startedAt = performance.now()
  let firstAt: number | undefined
  const calls = new Map<number, { id: string; name: string }>()
  const part = (piece: ModelPart): void => {
    firstAt ??= performance.now()
    show(run, piece, calls)
  }
  const outcome = await unlessAborted(
    candidate.client.answer(request, { part, drained: () => run.drained() }, run.signal),
    run.signal,
  )
  run.signal.throwIfAborted()
  if (outcome.kind === 'failed') return { ...outcome, hasShown: firstAt !== undefined }
  const endedAt = performance.now()
  return {
    kind: 'answered',
    answer: outcome,
    candidate,
    totalMs: Math.round(endedAt - startedAt),
    firstTokenMs: Math.round((firstAt ?? endedAt) - startedAt),
  }
}

function show(run: LiveRun, piece: ModelPart, calls: Map<number, { id: string; name: string }>): void {
  const { step } = run
  if (piece.kind === 'text') run.emit('assistant.message.delta', { step, content: piece.text })
  else if (piece.kind === 'thinking') run.emit('assistant.thinking.delta', { step, content: piece.text })
  else {
    const call = calls.get(piece.index) ?? { id: '', name: '' }
    if (piece.id !== undefined) call.id = piece.id
    if (piece.name !== undefined) call.name = piece.name
    calls.set(piece.index, call)
    run.emit('tool.call.delta', {
      step,
      index: piece.index,
      call_id: call.id,
      tool: call.name,
      arguments: piece.arguments,
    })
  }
}

/** A question on the side: the same retries, nothing shown. */
export async function askAside(
  run: LiveRun,
  candidate: ModelCandidate,
  question: SideQuestion,
  bounds: RetryBounds,
): Promise<ModelOutcome> {
  const request: ModelRequest = {
    model: candidate.model,
    system: question.system,
    messages: question.messages,
    trailing: [],
    tools: [],
    runId: run.id,
    conversationId: run.conversationId,
    step: run.step,
  }
  const sink = { part: () => undefined, drained: () => undefined }
  const startedAt = performance.now()
  for (let attempt = 1; ; attempt++) {
    const outcome = await unlessAborted(candidate.client.answer(request, sink, run.signal), run.signal)
    run.signal.throwIfAborted()
    if (outcome.kind === 'answered') {
      run.ledger.bookAside(outcome, candidate)
      return outcome
    }
    const leftMs = bounds.maxTotalSec * 1000 - (performance.now() - startedAt)
    if (outcome.failure.category !== 'retryable' || attempt >= bounds.maxAttempts || leftMs <= 0) return outcome
    await sleep(Math.min(waitBefore(attempt, outcome.failure), leftMs), run.signal)
  }
}
