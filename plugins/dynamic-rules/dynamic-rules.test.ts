import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ModelRequest } from '#contracts/model/client'
import type { Message } from '#contracts/run/message'
import { type Booted, boot } from '#test/kit/boot'
import { type ChatServer, type ChatTurn, startChatServer } from '#test/kit/chat-server'
import { describePlugin } from '#test/kit/describe-plugin'
import { fakeRun } from '#test/kit/fake-run'
import { openPlugin } from '#test/kit/open-plugin'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname })

const LS: ChatTurn = { toolCalls: [{ name: 'ls', arguments: { path: '.' } }] }
const GREP: ChatTurn = { toolCalls: [{ name: 'grep', arguments: { query: 'x' } }] }
const rule = (id: string, tool: string, more: object = {}) => ({
  id,
  trigger: { tool_names: ['nothing', tool] },
  content: `rule ${id}`,
  ...more,
})

let server: ChatServer
let daemon: Booted
beforeEach(async () => {
  const turns = [LS, GREP, LS, { text: 'done' }]
  server = await startChatServer({ respond: (_, index) => turns[index % turns.length] as ChatTurn })
  daemon = await boot({ modelUrl: server.baseUrl })
})
afterEach(async () => {
  await daemon.stop()
  await server.close()
})

/** Rule texts in each request, in order. */
const shown = () =>
  server.calls.map(({ body }) =>
    (body!.messages as Message[]).flatMap(({ content }) => content?.match(/^rule \w+/)?.[0] ?? []),
  )

test('a rule joins the step after its tool was used, and only that one', async () => {
  const events = await daemon.run({
    prompt: 'go',
    dynamic_rules: [rule('list', 'ls'), rule('once', 'ls', { fire_once: true }), rule('search', 'grep')],
  })
  expect(shown()).toEqual([[], ['rule list', 'rule once'], ['rule search'], ['rule list']])
  expect(
    events
      .filter(({ type }) => type === 'rule.injected')
      .map(({ payload }) => [payload?.rule_id, payload?.step, payload?.trigger_tool]),
  ).toEqual([
    ['list', 2, 'ls'],
    ['once', 2, 'ls'],
    ['search', 3, 'grep'],
    ['list', 4, 'ls'],
  ])
})

test('once means once per run', async () => {
  const request = { prompt: 'go', dynamic_rules: [rule('once', 'ls', { fire_once: true })], conversation_id: 'talk' }
  await daemon.run(request)
  await daemon.run(request)
  expect(shown()).toEqual([[], ['rule once'], [], [], [], ['rule once'], [], []])
})

test('a rule without id or content never fires', async () => {
  await daemon.run({ prompt: 'go', dynamic_rules: [rule('', 'ls'), rule('blank', 'ls', { content: ' ' })] })
  expect(shown().flat()).toEqual([])
})

test('rules of the deployment come first', async () => {
  const opened = await openPlugin(plugin, { config: { rules: [rule('house', 'ls')] } })
  const calls = [{ id: '1', name: 'ls', arguments: '{}' }]
  const run = fakeRun({ request: { prompt: 'go', dynamic_rules: [rule('own', 'ls')] } })
  run.addMessages([{ role: 'assistant', content: '', tool_calls: calls }])
  const request: ModelRequest = {
    model: 'm',
    system: '',
    messages: run.transcript,
    trailing: [],
    tools: [],
    runId: run.id,
    conversationId: run.conversationId,
    step: 1,
  }
  const turned = await opened.hooks.turnRequesting.promise(request, run)
  await opened.close()
  expect(turned.trailing.map(({ content }) => content)).toEqual(['rule house', 'rule own'])
})

test.each([
  [Array.from({ length: 51 }, (_, index) => rule(`r${index}`, 'ls')), /^dynamic_rules must/],
  [[rule('long', 'ls', { content: 'x'.repeat(65_537) })], /^dynamic_rules\[0\]\.content must/],
  [[rule('wide', 'ls', { content: 'é'.repeat(40_000) })], /^dynamic_rules\[0\]\.content: must/],
  [[rule('wrong', 'ls', { trigger: { tool_names: 'ls' } })], /^dynamic_rules\[0\]\.trigger\.tool_names must/],
  [[rule('wrong', 'ls', { fire_once: 'yes' })], /^dynamic_rules\[0\]\.fire_once must/],
])('bad rules are answered 400 with the field (%#)', async (rules, sentence) => {
  expect(await daemon.request('POST', '/v1/runs', { prompt: 'go', dynamic_rules: rules })).toMatchObject({
    status: 400,
    body: { error: { code: 'invalid_request', message: expect.stringMatching(sentence) } },
  })
})
