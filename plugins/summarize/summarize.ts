import { randomUUID } from 'node:crypto'
import { Failure, messageOf } from '#contracts/errors'
import type {
  ModelAnswer,
  ModelCandidate,
  ModelFailure,
  ModelOutcome,
  ModelRequest,
  ModelSink,
} from '#contracts/model/client'
import type { Providers } from '#contracts/model/providers'
import { sleep } from '#contracts/sleep'
import type { SummarizeConfig } from './config.js'
import { type GivenMessage, recordOf } from './record.js'

export interface SummaryRequest {
  readonly messages: readonly GivenMessage[]
  /** What the caller wants of the summary; may be empty. */
  readonly system: string
}

export interface Summary {
  readonly text: string
  readonly candidate: ModelCandidate
  readonly answer: ModelAnswer
}

export interface Summarizer {
  readonly providers: Providers | undefined
  readonly config: SummarizeConfig
  /** What the model is told to do. */
  readonly prompt: string
}

/** Half of the window, at four characters a token: the estimate is rough, and the summary wants room. */
const CHARS_PER_WINDOW_TOKEN = 2
const SHORTEST_WAIT_MS = 500
/** Not worth asking the same provider again, but another one. */
const GATEWAY_TIMEOUT = 504
const IGNORED: ModelSink = { part: () => undefined, drained: () => undefined }

/**
 * Has a summary written: by the summariser's model, else the default one; where a provider cannot answer now, once more after
 * the wait it asks for, then by the next. Fails with `summarizer_not_configured` or `summarize_failed`. Stops when `gone` fires.
 */
export async function summarize(summarizer: Summarizer, request: SummaryRequest, gone: AbortSignal): Promise<Summary> {
  const candidates = candidatesOf(summarizer)
  const { timeout_seconds } = summarizer.config
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), timeout_seconds * 1000)
  const limits = {
    signal: AbortSignal.any([gone, deadline.signal]),
    endsAtMs: performance.now() + timeout_seconds * 1000,
  }
  try {
    return await askInTurn(summarizer, candidates, request, limits)
  } catch (error) {
    if (gone.aborted) throw new Failure('unavailable', 'the client went away', { cause: error })
    if (deadline.signal.aborted) throw failed(`it took longer than ${timeout_seconds} seconds`, error)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

interface Limits {
  readonly signal: AbortSignal
  /** Monotonic. */
  readonly endsAtMs: number
}

const failed = (why: string, cause?: unknown): Failure =>
  new Failure('summarize_failed', `no summary could be written: ${why}`, { cause })

function candidatesOf({ providers, config }: Summarizer): readonly ModelCandidate[] {
  try {
    if (providers === undefined) throw new Error('providers are not configured here')
    return providers.resolve({ ...(config.model !== '' && { model: config.model }), allow_fallback: true }).candidates
  } catch (cause) {
    throw new Failure('summarizer_not_configured', `no model can write summaries: ${messageOf(cause)}`, { cause })
  }
}

async function askInTurn(
  summarizer: Summarizer,
  candidates: readonly ModelCandidate[],
  request: SummaryRequest,
  limits: Limits,
): Promise<Summary> {
  let last: ModelFailure | undefined
  for (const candidate of candidates) {
    const outcome = await askTwice(candidate, modelRequest(summarizer, candidate, request), limits)
    if (outcome.kind === 'answered') {
      const text = outcome.text.trim()
      if (text === '') throw failed(`${candidate.provider} answered with nothing`)
      return { text, candidate, answer: outcome }
    }
    last = outcome.failure
    if (limits.signal.aborted || !mayPass(last)) break
  }
  limits.signal.throwIfAborted()
  throw failed(last?.message ?? 'nobody was asked')
}

const mayPass = ({ category, status }: ModelFailure): boolean => category === 'retryable' || status === GATEWAY_TIMEOUT

async function askTwice(
  { client }: ModelCandidate,
  request: ModelRequest,
  { signal, endsAtMs }: Limits,
): Promise<ModelOutcome> {
  const first = await client.answer(request, IGNORED, signal)
  if (first.kind === 'answered' || first.failure.category !== 'retryable') return first
  const waitMs = Math.max(SHORTEST_WAIT_MS, first.failure.retryAfterMs ?? 0)
  if (performance.now() + waitMs >= endsAtMs) return first
  await sleep(waitMs, signal)
  return client.answer(request, IGNORED, signal)
}

function modelRequest(
  { config, prompt }: Summarizer,
  { model, contextWindow, maxOutputTokens }: ModelCandidate,
  { messages, system }: SummaryRequest,
): ModelRequest {
  const outputTokens = Math.min(config.max_output_tokens, maxOutputTokens ?? config.max_output_tokens)
  const maxChars = (contextWindow ?? config.context_window) * CHARS_PER_WINDOW_TOKEN
  const id = randomUUID()
  return {
    model,
    system: system.trim() === '' ? prompt : `${prompt}\n\nWhoever asked for this summary adds:\n${system}`,
    messages: [{ role: 'user', content: `Summarise this record.\n\n${recordOf(messages, maxChars)}` }],
    trailing: [],
    tools: [],
    maxOutputTokens: outputTokens,
    runId: `summary_${id}`,
    conversationId: `summary_${id}`,
    step: 1,
  }
}
