import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Booted, boot } from '#test/kit/boot'
import { type ChatServer, type ChatTurn, startScriptedServer } from '#test/kit/chat-server'
import { CHAT_WIRE } from '#test/kit/chat-wire'
import { RESPONSES_WIRE } from '#test/kit/responses-wire'
import { seeded } from '#test/kit/seed'

let server: ChatServer | undefined
let live: Booted | undefined
let dir: string | undefined
afterEach(async () => {
  await live?.stop()
  await server?.close()
  if (dir !== undefined) await rm(dir, { recursive: true })
  live = server = dir = undefined
})

/** A plugin that takes the wire of the daemon it is in and has it answer every run. */
const routerTo = (baseUrl: string, api: string) => `
import { Type } from '@sinclair/typebox'
import { definePlugin, STAGE } from '#contracts/plugin'
import { MODEL_WIRES } from '#contracts/ports'

export const plugin = definePlugin({
  name: 'router',
  config: Type.Object({}),
  gathers: [MODEL_WIRES],
  honours: ['model'],
  register(scope) {
    const wire = scope.gather(MODEL_WIRES).find(({ protocols }) => protocols.includes('openai'))
    const client = wire.open({
      provider: 'acme',
      baseUrl: ${JSON.stringify(baseUrl)},
      credential: async () => ({ secret: 'test-key', headers: { 'x-account': '7' } }),
      headers: { 'x-title': 'test' },
      modelPrefix: 'models/',
      traits: () => ({ api: ${JSON.stringify(api)}, quirks: new Set() }),
    })
    scope.defer(() => client.close())
    const rates = { inputPerMillionUsd: 2, outputPerMillionUsd: 8, cacheReadPerMillionUsd: 0.5 }
    scope.tap('providerResolving', async () => [{ provider: 'acme', model: 'm', client, rates }], { stage: STAGE.first })
  },
})
`

const AWKWARD = 'line one\n"quoted" \\ back\\slash\ttab 🎈 漢字 \u2028 end\n'

const TURNS: readonly ChatTurn[] = [
  {
    thinking: 'a plan',
    text: 'First a file.',
    toolCalls: [{ name: 'write', arguments: { path: 'src/ä/greet.txt', content: AWKWARD } }],
    usage: { prompt: 1001, completion: 17 },
  },
  {
    toolCalls: [{ name: 'edit', arguments: { path: 'src/ä/greet.txt', old_text: 'line one', new_text: 'line 1' } }],
    usage: { prompt: 1203, completion: 23, cached: 1001 },
  },
  {
    toolCalls: [
      { name: 'read', arguments: { path: 'src/ä/greet.txt' } },
      { name: 'grep', arguments: { query: 'quoted' } },
      { name: 'ls', arguments: {} },
    ],
    usage: { prompt: 1407, completion: 31, cached: 1203, reasoning: 11 },
  },
  {
    toolCalls: [{ name: 'bash', arguments: { command: "cat 'src/ä/greet.txt' | tee said.txt" } }],
    usage: { prompt: 1611, completion: 7, cached: 1407 },
  },
  { chunks: ['Do', 'ne. ', '🎈'], usage: { prompt: 1815, completion: 3, cached: 1611 } },
]

test.each([
  ['chat completions', '', CHAT_WIRE],
  ['responses', 'responses', RESPONSES_WIRE],
])('five steps with tools over %s: arguments intact, tokens and cost exact', async (_, api, wire) => {
  server = await startScriptedServer(wire, { turns: TURNS }, seeded(wire.path))
  dir = await mkdtemp(join(tmpdir(), 'router-'))
  await mkdir(join(dir, 'router'))
  await writeFile(join(dir, 'router', 'index.js'), routerTo(server.baseUrl, api))
  live = await boot({ modelUrl: server.baseUrl, isDurable: true, settings: { plugin_dirs: [dir] } })
  const events = await live.run({ prompt: 'Greet.', conversation_id: 'talk' })

  const completed = events.filter(({ type }) => type === 'tool.call.completed').map(({ payload }) => payload)
  expect(completed.map(call => [call?.tool, call?.error])).toEqual(
    ['write', 'edit', 'read', 'grep', 'ls', 'bash'].map(tool => [tool, undefined]),
  )
  expect(await readFile(join(live.workspace, 'said.txt'), 'utf8')).toBe(AWKWARD.replace('line one', 'line 1'))
  // Fresh input 1001 + 202 + 204 + 204 + 204 at 2, read from the cache 5222 at 0.5, output 81 at 8 dollars a million.
  expect(events.at(-1)).toMatchObject({
    type: 'run.completed',
    payload: {
      output: 'Done. 🎈',
      usage_totals: { prompt_tokens_total: 7037, completion_tokens_total: 81, total_tokens: 7118 },
      cost_totals: { cost_usd_total: 0.006889, cost_status: 'available' },
    },
  })
  const texts = events.filter(({ type }) => type === 'assistant.message.delta').map(({ payload }) => payload?.content)
  expect(texts.join('')).toBe('First a file.Done. 🎈')

  expect(server.calls).toHaveLength(5)
  for (const { body, headers } of server.calls) {
    expect(body?.model).toBe('models/m')
    expect(headers).toMatchObject({ authorization: 'Bearer test-key', 'x-account': '7', 'x-title': 'test' })
  }
  // What the model thought before its first calls goes back with them, for as long as the process lives.
  const sealed = server.calls.map(({ bodyText }) => bodyText.includes('"encrypted_content":"sealed a plan"'))
  expect(sealed).toEqual(api === 'responses' ? [false, true, true, true, true] : Array(5).fill(false))
})
