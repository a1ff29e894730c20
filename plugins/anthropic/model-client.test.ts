import type { ModelConnection } from '#contracts/model/provider'
import { MESSAGES_WIRE } from '#test/kit/messages-wire'
import { describeModelClient } from '#test/kit/model-contract'
import { describeModelWire } from '#test/kit/wire-contract'
import { messagesWire } from './messages-wire.js'

const timeouts = { idleMs: 10_000, headersMs: 10_000, connectMs: 5000 }

describeModelClient('the messages client', {
  wire: MESSAGES_WIRE,
  open: ({ origin, apiKey, idleMs }) =>
    messagesWire({ ...timeouts, idleMs }).open({
      provider: 'anthropic',
      baseUrl: origin,
      credential: () => ({ secret: apiKey }),
      headers: {},
      modelPrefix: '',
      traits: () => ({ api: '', quirks: new Set() }),
    }),
  close: client => (client as ModelConnection).close(),
})

describeModelWire('the messages wire', {
  wire: messagesWire(timeouts),
  scripted: MESSAGES_WIRE,
  secretHeaders: secret => ({ 'x-api-key': secret }),
})
