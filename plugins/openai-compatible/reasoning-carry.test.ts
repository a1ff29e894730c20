import { afterEach, expect, test } from 'vitest'
import type { ModelAnswer } from '#contracts/model/client'
import type { Message } from '#contracts/run/message'
import type { ModelCall, Respond } from '#test/kit/model-server'
import { stream } from '#test/kit/model-stream'
import { modelRequest, playTurn } from '#test/kit/model-turn'
import { connectionsForTest, RESPONSES_TRAITS } from '#test/kit/openai-connections'
import { RESPONSES_WIRE, responseObject, responsesFrame } from '#test/kit/responses-wire'

const connections = connectionsForTest()
afterEach(() => connections.close())

const USER: Message = { role: 'user', content: 'hello' }
const reasoning = (id: string, encrypted_content?: string) => ({
  ...{ type: 'reasoning', id, summary: [{ type: 'summary_text', text: id }], status: 'completed' },
  ...(encrypted_content === undefined ? {} : { encrypted_content }),
})
const call = (call_id: string) => ({ type: 'function_call', id: `fc_${call_id}`, call_id, name: 'ls', arguments: '{}' })
const message = (text: string) => ({
  ...{ type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text }] },
})

/** The first request is answered with these items, all others with words, unless `respond` knows better. */
const given = (output: readonly object[], respond?: Respond) =>
  connections.before(
    (received, response, index) => {
      if (index > 0 && respond) return respond(received, response, index)
      const items = output.map((item, output_index) =>
        responsesFrame('response.output_item.done', { output_index, item }),
      )
      const end = responsesFrame('response.completed', { response: responseObject({ status: 'completed', output }) })
      stream(response).end(index === 0 ? items.join('') + end : RESPONSES_WIRE.frames({ text: 'ok' }).join(''))
    },
    { traits: RESPONSES_TRAITS },
  )

/** As the run loop makes messages of an answer and its results. */
function transcriptOf(answer: ModelAnswer): Message[] {
  const { text, toolCalls } = answer
  return [
    USER,
    { role: 'assistant', content: text, tool_calls: toolCalls },
    ...toolCalls.map(({ id }): Message => ({ role: 'tool', content: 'done', tool_call_id: id })),
  ]
}

async function firstAnswer({ connection }: Awaited<ReturnType<typeof given>>): Promise<ModelAnswer> {
  const { outcome } = await playTurn(connection, { request: modelRequest({ messages: [USER] }) })
  if (outcome.kind === 'failed') throw new Error(outcome.failure.message)
  return outcome
}

const inputOf = (received: ModelCall | undefined) => (received?.body?.input ?? []) as { type: string }[]

test('encrypted reasoning goes back in front of the calls it led to, in the order it came', async () => {
  const bench = await given([
    reasoning('rs_1', 'secret one'),
    message('I look.'),
    call('c1'),
    reasoning('rs_2', 'secret two'),
    reasoning('rs_3'),
    call('c2'),
  ])
  const messages = transcriptOf(await firstAnswer(bench))
  for (let turn = 0; turn < 2; turn++) await playTurn(bench.connection, { request: modelRequest({ messages }) })
  const summary = (text: string) => [{ type: 'summary_text', text }]
  expect(inputOf(bench.server.calls[1])).toEqual([
    { type: 'message', role: 'user', content: 'hello' },
    { type: 'reasoning', id: 'rs_1', summary: summary('rs_1'), encrypted_content: 'secret one' },
    { type: 'message', role: 'assistant', content: 'I look.' },
    { type: 'function_call', call_id: 'c1', name: 'ls', arguments: '{}' },
    { type: 'reasoning', id: 'rs_2', summary: summary('rs_2'), encrypted_content: 'secret two' },
    { type: 'function_call', call_id: 'c2', name: 'ls', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: 'done' },
    { type: 'function_call_output', call_id: 'c2', output: 'done' },
  ])
  expect(bench.server.calls[2]?.bodyText).toBe(bench.server.calls[1]?.bodyText)
})

test.each([
  ['it has no encrypted form', [reasoning('rs_1'), call('c1')], (messages: Message[]) => messages],
  [
    'the words of the message were changed',
    [reasoning('rs_1', 'x'), message('a'), call('c1')],
    (messages: Message[]) => messages.map(each => (each.content === 'a' ? { ...each, content: 'b' } : each)),
  ],
  [
    'the transcript was read from a store',
    [reasoning('rs_1', 'x'), call('c1')],
    (messages: Message[]) => JSON.parse(JSON.stringify(messages)),
  ],
])('it stays away where %s', async (_, output, changed) => {
  const bench = await given(output)
  const messages = changed(transcriptOf(await firstAnswer(bench)))
  await playTurn(bench.connection, { request: modelRequest({ messages }) })
  expect(inputOf(bench.server.calls[1]).map(({ type }) => type)).not.toContain('reasoning')
})

test('an id that was replaced is the one that goes back', async () => {
  const bench = await given([reasoning('rs_1', 'x'), call('same'), call('same')])
  const messages = transcriptOf(await firstAnswer(bench))
  await playTurn(bench.connection, { request: modelRequest({ messages }) })
  const ids = (type: string) => inputOf(bench.server.calls[1]).filter(item => item.type === type)
  expect(ids('function_call').map(item => (item as { call_id?: string }).call_id)).toEqual(
    ids('function_call_output').map(item => (item as { call_id?: string }).call_id),
  )
})

test.each([
  'The encrypted content gAAA...DQ== could not be verified.',
  "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
  "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
])('refused reasoning is left out from then on: %s', async words => {
  const bench = await given([reasoning('rs_1', 'x'), call('c1')], (received, response) => {
    if (!inputOf(received).some(({ type }) => type === 'reasoning'))
      return void stream(response).end(RESPONSES_WIRE.frames({ text: 'ok' }).join(''))
    response.writeHead(400, { 'content-type': 'application/json' }).end(RESPONSES_WIRE.error(words))
  })
  const messages = transcriptOf(await firstAnswer(bench))
  const again = () => playTurn(bench.connection, { request: modelRequest({ messages }) })
  expect((await again()).outcome).toMatchObject({ kind: 'failed', failure: { category: 'retryable', status: 400 } })
  expect((await again()).outcome).toMatchObject({ kind: 'answered', text: 'ok' })
})

test('the same words about a request that held none fail it for good', async () => {
  const bench = await given([call('c1')], (_, response) => {
    response.writeHead(400).end(RESPONSES_WIRE.error('reasoning.effort is not known'))
  })
  const messages = transcriptOf(await firstAnswer(bench))
  expect((await playTurn(bench.connection, { request: modelRequest({ messages }) })).outcome).toMatchObject({
    failure: { category: 'other', status: 400 },
  })
})
