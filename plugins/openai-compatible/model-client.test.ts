import type { ModelConnection, ModelTraits } from '#contracts/model/provider'
import { CHAT_WIRE, type ScriptedWire } from '#test/kit/chat-wire'
import { describeModelClient } from '#test/kit/model-contract'
import { CHAT_USAGE_FORMS, OPENAI_TOO_LONG, RESPONSES_USAGE_FORMS } from '#test/kit/openai-forms'
import { RESPONSES_WIRE } from '#test/kit/responses-wire'
import { describeModelWire } from '#test/kit/wire-contract'
import { openAiWire } from './wire.js'

const APIS: readonly (readonly [string, ModelTraits['api'], ScriptedWire])[] = [
  ['chat completions', '', { ...CHAT_WIRE, usageForms: CHAT_USAGE_FORMS, tooLong: OPENAI_TOO_LONG }],
  ['responses', 'responses', { ...RESPONSES_WIRE, usageForms: RESPONSES_USAGE_FORMS, tooLong: OPENAI_TOO_LONG }],
]
const limits = (idleMs: number) => ({ idleMs, headersMs: 10_000, connectMs: 5000 })

for (const [name, api, scripted] of APIS) {
  describeModelClient(`the client of ${name}`, {
    wire: scripted,
    open: ({ origin, apiKey, idleMs }) =>
      openAiWire(limits(idleMs)).open({
        provider: 'openai',
        baseUrl: origin,
        credential: () => ({ secret: apiKey }),
        headers: {},
        modelPrefix: '',
        traits: () => ({ api, quirks: new Set() }),
      }),
    close: client => (client as ModelConnection).close(),
  })

  describeModelWire(`the wire of ${name}`, {
    wire: openAiWire(limits(5000)),
    scripted,
    api,
    secretHeaders: secret => ({ authorization: `Bearer ${secret}` }),
  })
}
