import type { Events } from '#contracts/event/events'
import { IdParams, type RoutePlugin } from '#contracts/http'

/** Routes below /v1/conversations. */
export function conversationRoutes(events: Events): RoutePlugin {
  return async app => {
    app.get(
      '/v1/conversations/:id/events',
      {
        config: { scope: 'runs:read', timeoutMs: 'none' },
        schema: {
          summary: 'Follow a conversation',
          description:
            'Events of every run of the conversation, and of what happened beside them (`job.completed`), in the order they ' +
            'were stored; a run’s end does not end the stream. ' +
            'A `Last-Event-ID` that is none of them starts over, told by `x-conversation-resync: required`.',
          tags: ['conversations'],
          params: IdParams,
          produces: ['text/event-stream'],
        },
      },
      async (request, reply) => {
        await events.streamConversation(request, reply, request.params.id)
        return reply
      },
    )
  }
}
