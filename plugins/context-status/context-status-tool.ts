import { Type } from '@sinclair/typebox'
import type { ActiveRun } from '#contracts/run/active-run'
import type { Message } from '#contracts/run/message'
import { transcriptTokens } from '#contracts/run/token-estimate'
import { defineTool } from '#contracts/tool/tool'

/** Assumed where nobody knows the model's window. */
const USUAL_WINDOW = 128_000

/** `context_status`: how full the run's context is, counted and estimated. */
export const contextStatusTool = defineTool({
  name: 'context_status',
  description:
    'Show how large this conversation has grown: estimated tokens, messages by kind, and a recommendation (healthy, elevated, warning, critical). When it says warning, compact before you go on.',
  parameters: Type.Object({}),
  action: 'read',
  tags: ['context', 'tokens', 'status'],
  async execute(_, { run }) {
    return { output: statusOf(run.transcript, windowOf(run)) }
  },
})

/** Counts of a transcript; `window` is what the model can hold. */
export function statusOf(transcript: readonly Message[], window: number): Readonly<Record<string, unknown>> {
  const count = (is: (message: Message) => boolean): number => transcript.filter(is).length
  const tokens = transcriptTokens(transcript)
  return {
    estimated_context_tokens: tokens,
    message_count: transcript.length,
    tool_call_count: transcript.reduce((sum, { tool_calls }) => sum + (tool_calls?.length ?? 0), 0),
    tool_result_count: count(({ role }) => role === 'tool'),
    user_message_count: count(({ role }) => role === 'user'),
    assistant_message_count: count(({ role }) => role === 'assistant'),
    system_message_count: count(({ role }) => role === 'system'),
    has_compact_summary: transcript.some(
      message => message.is_compact_summary === true || message.name === 'compact_summary',
    ),
    recommendation: labelOf(tokens / window),
  }
}

const LABELS = [
  [0.85, 'critical'],
  [0.7, 'warning'],
  [0.5, 'elevated'],
] as const

const labelOf = (share: number): string => LABELS.find(([from]) => share >= from)?.[1] ?? 'healthy'

const windowOf = ({ modelFacts }: ActiveRun): number => modelFacts?.contextWindow || USUAL_WINDOW
