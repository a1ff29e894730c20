import { CHAT_WIRE } from '#test/kit/chat-wire'
import { describeModelClient } from '#test/kit/model-contract'
import { ChatCompletionsClient } from './chat-client.js'
import { parseEndpoint } from './endpoint.js'

describeModelClient('the chat-completions client', {
  wire: CHAT_WIRE,
  open: ({ origin, apiKey, idleMs }) =>
    new ChatCompletionsClient('openai', {
      endpoint: parseEndpoint(origin),
      apiKey,
      idleMs,
      headersMs: 10_000,
      connectMs: 5000,
    }),
  close: client => (client as ChatCompletionsClient).close(),
})
