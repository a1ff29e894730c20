import { Type } from '@sinclair/typebox'
import { Failure } from '#contracts/errors'
import { goneSignal, type RoutePlugin } from '#contracts/http'
import type { PluginLog } from '#contracts/plugin'
import { type Summarizer, summarize } from './summarize.js'
import { Turns } from './turns.js'

const SummaryBody = Type.Object({
  messages: Type.Array(Type.Object({ role: Type.String({ minLength: 1, maxLength: 64 }), content: Type.String() }), {
    minItems: 1,
    maxItems: 10_000,
    description: 'What is to be summarised, oldest first.',
  }),
  system: Type.Optional(
    Type.String({ maxLength: 65_536, description: 'What is wanted of the summary, besides what makes a good one.' }),
  ),
})
const SummaryReply = Type.Object({ summary: Type.String() })

/** Summaries of messages that belong to no run. */
export function summarizeRoutes(summarizer: Summarizer, log: PluginLog): RoutePlugin {
  const turns = new Turns(summarizer.config.max_concurrent)
  return async app => {
    app.post(
      '/v1/summarize',
      {
        // A model takes its time; the work has a limit of its own.
        config: { scope: 'runs:write', timeoutMs: 'none' },
        schema: {
          summary: 'Have a model summarise messages',
          description: 'A client that hangs up cancels it. Nothing is kept.',
          tags: ['models'],
          body: SummaryBody,
          response: { 200: SummaryReply },
        },
      },
      async ({ identity, body: { messages, system = '' } }, reply) => {
        if (messages.every(({ content }) => content.trim() === ''))
          throw new Failure('invalid_request', 'messages: no message has any content to summarise')
        const startedAt = performance.now()
        const { text, candidate, answer } = await turns.take(identity.tenantId, () =>
          summarize(summarizer, { messages, system }, goneSignal(reply)),
        )
        const facts = { provider: candidate.provider, model: candidate.model, usage: answer.usage }
        const ms = Math.round(performance.now() - startedAt)
        log.info({ tenant: identity.tenantId, ...facts, ms }, 'a summary was written')
        return { summary: text }
      },
    )
  }
}
