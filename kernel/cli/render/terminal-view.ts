import type { EventEnvelope } from '#contracts/event/envelope'
import type { EventType } from '#contracts/event/payloads'
import { approvalSummary } from '../ask/approval-prompt.js'
import { exitCodeOf } from '../exit-code.js'
import { costText, countText, durationText, numberText } from './amounts.js'
import type { Paint } from './paint.js'
import { cut, plainLine, plainText } from './plain-text.js'
import type { RunView } from './run-view.js'
import { createToolLines, type ToolLinesOptions } from './tool-lines.js'

type Payload = Readonly<Record<string, unknown>>
type Stream = 'answer' | 'thinking'
type Block = 'text' | 'line'

export interface TerminalViewOptions extends ToolLinesOptions {
  /** What a run waits for is asked below, in full: no need to announce it. */
  readonly isAskedHere: boolean
}

/**
 * A run as a person reads it: the answer as it streams, tool calls as lines, the outcome with its price at the end.
 * Returns text instead of writing it, so that a test can read the whole screen.
 */
export function createTerminalView(options: TerminalViewOptions): RunView {
  const { paint, columns } = options
  const tools = createToolLines(options)
  let open: Stream | undefined
  let block: Block = 'line'
  let atLineStart = true
  let hasAnswered = false
  let steps = 0
  let startedAt: string | undefined
  let provider = ''

  /** Ends a half-written line, so that what follows stands on its own. */
  function settle(): string {
    const end = atLineStart ? '' : '\n'
    open = undefined
    atLineStart = true
    return end
  }

  /** Text stands apart from the lines around it. */
  function enter(next: Block): string {
    const gap = block === next || steps === 0 ? '' : '\n'
    block = next
    return settle() + gap
  }

  function stream(kind: Stream, text: string): string {
    if (text === '') return ''
    const before = open === kind ? '' : enter('text')
    open = kind
    const shown = plainText(text)
    atLineStart = shown.endsWith('\n')
    if (kind === 'answer') hasAnswered = true
    return before + (kind === 'thinking' ? paint.dim(shown) : shown)
  }

  const remark = (text: string) => `${enter('line')}${paint.dim(text)}\n`
  const warning = (text: string) => `${enter('line')}${paint.yellow('!')} ${text}\n`

  const shows: { readonly [T in EventType]?: (payload: Payload, event: EventEnvelope) => string } = {
    'run.started': (_payload, { run_id, timestamp }) => {
      startedAt = timestamp
      return remark(plainLine(run_id))
    },
    'run.queued': () => remark('queued: waiting for a free worker'),
    'provider.resolved': ({ model, provider: name }) => {
      const text = `${plainLine(asText(model))} via ${plainLine(asText(name))}`
      if (text === provider) return ''
      provider = text
      return remark(text)
    },
    'conversation.continued': ({ prior_message_count }) =>
      remark(`continues a conversation of ${countText(asNumber(prior_message_count), 'message')}`),
    'llm.turn.requested': () => {
      steps += 1
      hasAnswered = false
      return ''
    },
    'assistant.message.delta': ({ content }) => stream('answer', asText(content)),
    'assistant.thinking.delta': ({ content }) => stream('thinking', asText(content)),
    'assistant.message': ({ content }) => (hasAnswered ? '' : stream('answer', asText(content))),
    'tool.call.started': ({ call_id, tool, arguments: args }) =>
      enter('line') + tools.started(asText(call_id), asText(tool), asText(args)),
    'tool.output.delta': ({ call_id, content }) => enter('line') + tools.output(asText(call_id), asText(content)),
    'tool.call.completed': ({ call_id, output, error, duration_ms, rewind_warning }) => {
      if (rewind_warning !== undefined) return warning(plainLine(asText(rewind_warning)))
      return (
        enter('line') +
        tools.completed(asText(call_id), {
          ...(output === undefined ? {} : { output: asText(output) }),
          ...(error === undefined ? {} : { error: asText(error) }),
          ...(duration_ms === undefined ? {} : { durationMs: asNumber(duration_ms) }),
        })
      )
    },
    'tool.call.blocked': ({ call_id, tool, reason }) =>
      enter('line') + tools.blocked(asText(call_id), asText(tool), asText(reason)),
    'tool.approval_required': ({ tool, arguments: args }) =>
      options.isAskedHere
        ? enter('line')
        : warning(
            `waits for approval: ${cut(approvalSummary({ tool: asText(tool), argumentsText: asText(args) }), columns)}`,
          ),
    'tool.approval_granted': ({ tool }) => remark(`${plainLine(asText(tool))} was approved`),
    'tool.approval_denied': ({ tool, reason, message }) => {
      const why = plainLine(asText(message) || asText(reason))
      return remark(`${plainLine(asText(tool))} was denied${why && `: ${why}`}`)
    },
    'run.waiting_for_user': ({ questions }) =>
      options.isAskedHere ? enter('line') : warning(`the agent asks: ${questionsText(questions)}`),
    'run.resumed': () => remark('answered; going on'),
    'steering.received': ({ message }) => `${enter('line')}${paint.cyan('»')} ${plainLine(asText(message))}\n`,
    'prompt.warning': ({ message }) => warning(plainLine(asText(message))),
    'llm.empty_response.retry': ({ retry, max_retries }) =>
      remark(`the model answered nothing; trying again (${asNumber(retry)} of ${asNumber(max_retries)})`),
    'run.cost_limit_reached': ({ max_cost_usd, cumulative_cost_usd }) =>
      warning(`cost limit reached: ${costText(asNumber(cumulative_cost_usd))} of ${costText(asNumber(max_cost_usd))}`),
    'workspace.provision_failed': ({ error }) => warning(`no workspace: ${plainLine(asText(error))}`),
    'auto_compact.completed': ({ before_tokens, after_tokens }) =>
      remark(
        `history compacted: ${numberText(asNumber(before_tokens))} → ${numberText(asNumber(after_tokens))} tokens`,
      ),
  }

  function ending(type: string, payload: Payload, event: EventEnvelope): string {
    const output = asText(payload.output)
    const answer = type === 'run.completed' && !hasAnswered && output !== '' ? stream('answer', output) : ''
    const facts = [countText(steps, 'step'), ...totals(payload), ...elapsed(startedAt, event.timestamp)]
    return `${answer}${settle()}\n${outcome(type, payload, paint)} ${paint.dim(`· ${facts.join(' · ')}`)}\n`
  }

  return {
    event(event) {
      const payload: Payload = event.payload ?? {}
      if (exitCodeOf(event.type) !== undefined) return ending(event.type, payload, event)
      return shows[event.type as EventType]?.(payload, event) ?? ''
    },
    interrupted: settle,
  }
}

function outcome(type: string, payload: Payload, paint: Paint): string {
  if (type === 'run.completed') return `${paint.green('✓')} completed`
  if (type === 'run.cancelled') return `${paint.yellow('■')} cancelled`
  const reason = payload.reason === undefined ? '' : ` (${plainLine(asText(payload.reason))})`
  return `${paint.red('✗')} failed: ${plainLine(asText(payload.error))}${reason}`
}

function totals(payload: Payload): readonly string[] {
  const usage = asFields(payload.usage_totals)
  const cost = asFields(payload.cost_totals)
  const tokens = `${numberText(asNumber(usage.prompt_tokens_total))} in, ${numberText(asNumber(usage.completion_tokens_total))} out tokens`
  const isPriced = cost.cost_status === 'available' || asNumber(cost.cost_usd_total) > 0
  return [tokens, isPriced ? costText(asNumber(cost.cost_usd_total)) : 'price unknown']
}

function elapsed(from: string | undefined, to: string): readonly string[] {
  const ms = Date.parse(to) - Date.parse(from ?? '')
  return Number.isFinite(ms) && ms >= 0 ? [durationText(ms)] : []
}

function questionsText(questions: unknown): string {
  if (!Array.isArray(questions)) return ''
  return questions.map(question => plainLine(asText(asFields(question).question))).join(' / ')
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : '')
const asNumber = (value: unknown): number => (typeof value === 'number' ? value : 0)
const asFields = (value: unknown): Payload => (typeof value === 'object' && value !== null ? (value as Payload) : {})
