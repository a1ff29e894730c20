import { isFailure, messageOf } from '#contracts/errors'
import type { Ending, PricedTurn } from '#contracts/hooks'
import type { ModelOutcome, ModelRequest, ToolSpec } from '#contracts/model/client'
import type { SideQuestion } from '#contracts/run/active-run'
import type { Message, ToolCall } from '#contracts/run/message'
import type { ToolDefinition } from '#contracts/tool/tool'
import { Interrupt } from './interrupt.js'
import type { LiveRun } from './live-run.js'
import { type Prepared, prepare } from './preflight.js'
import { unansweredCalls } from './recovery.js'
import { runToolCalls } from './tool-phase.js'
import { type AnsweredTurn, askAside, type RetryBounds, takeTurn } from './turn.js'

/** How a run's work ended; `released` leaves the run unsettled for another process. */
export type Outcome = Ending | { readonly kind: 'cancelled' } | { readonly kind: 'released' }

const MAX_EMPTY = 3
const NUDGE: Message = {
  role: 'user',
  content: 'Your last answer was empty. Go on with the task, or say that you are done and what the result is.',
  is_meta: true,
}

/** Drives a run to its end. Never throws: whatever happens becomes the outcome. */
export async function driveRun(
  run: LiveRun,
  retries: RetryBounds,
  loadHistory: () => Promise<Message[]>,
): Promise<Outcome> {
  try {
    const prepared = await prepare(run, loadHistory)
    run.consult = question => consult(run, question, retries)
    return await new Loop(run, retries, prepared).run()
  } catch (error) {
    return outcomeOf(error)
  }
}

/** Another model than the run's own may have another provider, and has another price. */
async function consult(run: LiveRun, question: SideQuestion, retries: RetryBounds): Promise<ModelOutcome> {
  try {
    const candidate = question.model
      ? (await run.hooks.providerResolving.promise({ ...run.request, model: question.model }, run))?.[0]
      : run.candidate
    if (candidate) return await askAside(run, candidate, question, retries)
    return failedAside(`no installed plugin can answer for model ${question.model}`)
  } catch (error) {
    if (!isFailure(error)) throw error
    return failedAside(messageOf(error))
  }
}

const failedAside = (message: string): ModelOutcome => ({ kind: 'failed', failure: { category: 'other', message } })

/** What an error thrown out of the loop means for the run. */
export function outcomeOf(error: unknown): Outcome {
  if (error instanceof Interrupt) return error.why === 'cancelled' ? { kind: 'cancelled' } : { kind: 'released' }
  if (isFailure(error)) return { kind: 'failed', error: messageOf(error) }
  return { kind: 'failed', error: `internal panic: ${messageOf(error)}` }
}

class Loop {
  #empties = 0
  /** An answer that holds unless another step brings a better one. */
  #standing: string | undefined
  #specs: { readonly tools: readonly ToolDefinition[]; readonly specs: readonly ToolSpec[] } | undefined
  readonly #core: readonly ToolDefinition[]

  constructor(
    private readonly live: LiveRun,
    private readonly retries: RetryBounds,
    private readonly prepared: Prepared,
  ) {
    this.#core = [...live.tools.values()].filter(tool => tool.tier !== 'deferred')
  }

  async run(): Promise<Outcome> {
    let ending = this.live.isResumed ? await this.#resume() : undefined
    while (!ending) ending = await this.#step()
    return ending
  }

  /** Goes on inside the step a former process was in, when its turn had been answered. */
  async #resume(): Promise<Ending | undefined> {
    const { live } = this
    if (live.step === 0) return undefined
    const calls = unansweredCalls(live.transcript)
    const last = live.transcript.at(-1)
    const turn = live.transcript.findLast(({ role }) => role === 'assistant')
    if (calls.length > 0) {
      await runToolCalls(live, calls, live.intended)
      // What waited before the restart may not be installed any more.
      if (live.status !== 'running') live.moveTo('running')
      return this.#endStep(turn?.tool_calls?.length ?? 0, performance.now())
    }
    if (last?.role === 'assistant' && last.content !== '') return this.#settleAnswer(last.content, performance.now())
    // Otherwise the next turn was never answered: its step begins anew, under the same number.
    return undefined
  }

  async #step(): Promise<Ending | undefined> {
    const { live } = this
    live.checkpoint()
    const refused = live.hooks.stepPermitting.isUsed() ? await live.hooks.stepPermitting.promise(live) : undefined
    if (refused) return this.#standing === undefined ? refused : { kind: 'completed', output: this.#standing }
    this.#standing = undefined
    const startedAt = performance.now()
    live.ledger.step++
    live.emit('run.step.started', { step: live.step, step_start_ms: live.store.now() })
    if (live.hooks.stepStarting.isUsed()) await live.hooks.stepStarting.promise(live)
    live.ledger.requested++
    live.emit('llm.turn.requested', { step: live.step })
    const { toolsOffering } = live.hooks
    const tools = toolsOffering.isUsed() ? await toolsOffering.promise(this.#core, live) : this.#core
    const request = await this.#request(tools)
    const turn = await takeTurn(live, this.prepared.candidates, request, this.retries)
    if (turn.kind === 'failed') return { kind: 'failed', error: `provider completion failed: ${turn.failure.message}` }
    const priced = this.#account(turn)
    return this.#judge(turn, priced, startedAt)
  }

  async #request(tools: readonly ToolDefinition[]): Promise<ModelRequest> {
    const { live } = this
    if (this.#specs?.tools !== tools) this.#specs = { tools, specs: tools.map(toSpec) }
    const effort = live.request.reasoning_effort
    const request: ModelRequest = {
      model: live.model,
      system: this.prepared.system,
      messages: live.transcript,
      trailing: [],
      tools: this.#specs.specs,
      ...(effort && { reasoningEffort: effort }),
      runId: live.id,
      conversationId: live.conversationId,
      step: live.step,
    }
    return live.hooks.turnRequesting.isUsed() ? live.hooks.turnRequesting.promise(request, live) : request
  }

  #account({ answer, candidate, totalMs, firstTokenMs }: AnsweredTurn): PricedTurn {
    const { live } = this
    const { provider } = candidate
    const { usage, isReported, costUsd, costStatus, pricingVersion = '' } = live.ledger.book(answer, candidate)
    live.emit('usage.delta', {
      step: live.step,
      usage_status: isReported ? 'provider_reported' : 'provider_unreported',
      cost_status: costStatus,
      turn_usage: usage,
      turn_cost_usd: costUsd,
      cumulative_usage: live.ledger.usage,
      cumulative_cost_usd: live.ledger.costUsd,
      pricing_version: pricingVersion,
    })
    live.emit('llm.turn.completed', {
      step: live.step,
      tool_calls: answer.toolCalls.length,
      total_duration_ms: totalMs,
      ttft_ms: firstTokenMs,
      provider,
    })
    return { answer, provider, usage, costUsd, costStatus, totalMs, firstTokenMs }
  }

  async #judge(turn: AnsweredTurn, priced: PricedTurn, startedAt: number): Promise<Ending | undefined> {
    const { live } = this
    const { answer } = turn
    live.addMessages([
      {
        role: 'assistant',
        content: answer.text,
        ...(answer.toolCalls.length > 0 && { tool_calls: answer.toolCalls }),
        ...(answer.reasoning && { reasoning: answer.reasoning }),
      },
    ])
    live.saveProgress()
    if (live.hooks.turnAnswered.isUsed()) await live.hooks.turnAnswered.promise(priced, live)
    if (live.hooks.spendAccrued.isUsed()) await live.hooks.spendAccrued.promise(priced, live)
    const ending = live.hooks.turnJudging.isUsed() ? await live.hooks.turnJudging.promise(priced, live) : undefined
    if (ending) {
      // Every call has its result, or no provider would take the conversation again.
      live.addMessages(answer.toolCalls.map(notExecuted))
      await this.#endStep(0, startedAt)
      return ending
    }
    if (answer.toolCalls.length > 0) {
      this.#empties = 0
      await runToolCalls(live, answer.toolCalls)
      return this.#endStep(answer.toolCalls.length, startedAt)
    }
    return answer.text.trim() === '' ? this.#retryEmpty() : this.#settleAnswer(answer.text, startedAt)
  }

  async #settleAnswer(text: string, startedAt: number): Promise<Ending | undefined> {
    const { live } = this
    this.#empties = 0
    // A wait of `answerJudging` may span a restart: what was said before it is not said again.
    if (live.note(ANSWERED) !== live.step) {
      live.emit('assistant.message', { content: text })
      await this.#endStep(0, startedAt)
      live.setNote(ANSWERED, live.step)
    }
    const verdict = live.hooks.answerJudging.isUsed() ? await live.hooks.answerJudging.promise(text, live) : undefined
    if (verdict?.kind === 'continue') {
      live.addMessages(verdict.messages)
      this.#standing = verdict.output
      return undefined
    }
    return verdict?.kind === 'failed' ? verdict : { kind: 'completed', output: verdict?.output ?? text }
  }

  /** An empty answer is asked again, within the same step number. */
  #retryEmpty(): Ending | undefined {
    const { live } = this
    this.#empties++
    if (this.#empties >= MAX_EMPTY)
      return { kind: 'failed', error: `max_empty_responses: the model answered nothing ${MAX_EMPTY} times in a row` }
    live.emit('llm.empty_response.retry', { step: live.step, retry: this.#empties, max_retries: MAX_EMPTY })
    live.addMessages([NUDGE])
    live.ledger.step--
    return undefined
  }

  async #endStep(toolCalls: number, startedAt: number): Promise<undefined> {
    const { live } = this
    if (live.hooks.stepEnded.isUsed()) await live.hooks.stepEnded.promise(live)
    const duration = Math.round(performance.now() - startedAt)
    live.emit('run.step.completed', { step: live.step, tool_calls: toolCalls, duration_ms: duration })
    live.saveProgress()
    await live.drained()
    return undefined
  }
}

/** Note: the last step whose final answer was shown. */
const ANSWERED = 'kernel.answered'
const notExecuted = ({ id, name }: ToolCall): Message => ({
  role: 'tool',
  tool_call_id: id,
  name,
  content: JSON.stringify({ error: 'not executed: the run ended with this turn' }),
})

const toSpec = ({ name, description, parameters }: ToolDefinition): ToolSpec => ({ name, description, parameters })
