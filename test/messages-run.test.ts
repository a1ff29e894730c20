import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Booted, boot } from '#test/kit/boot'
import type { ScriptedTurn } from '#test/kit/chat-wire'
import { type MessagesBody, objections } from '#test/kit/messages-rules'
import { MESSAGES_WIRE, messagesEvent } from '#test/kit/messages-wire'
import { type ModelServer, type Respond, startModelServer } from '#test/kit/model-server'
import { loopTurns, stream } from '#test/kit/model-stream'
import { type CacheUse, PromptCache } from '#test/kit/prompt-cache'
import { seeded } from '#test/kit/seed'

let server: ModelServer | undefined
let live: Booted | undefined
let dir: string | undefined
afterEach(async () => {
  await live?.stop()
  await server?.close()
  if (dir) await rm(dir, { recursive: true, force: true })
  live = server = dir = undefined
})

/** A plugin that sends every run to the messages wire, and nothing besides: the wire is gathered as a catalog would. */
const routerTo = (baseUrl: string) => `
import { Type } from '@sinclair/typebox'
import { definePlugin, STAGE } from '#contracts/plugin'
import { MODEL_WIRES } from '#contracts/ports'

export const plugin = definePlugin({
  name: 'router',
  config: Type.Object({}),
  honours: ['model'],
  gathers: [MODEL_WIRES],
  register(scope) {
    const wire = scope.gather(MODEL_WIRES).find(({ protocols }) => protocols.includes('anthropic'))
    const client = wire.open({
      provider: 'anthropic',
      baseUrl: '${baseUrl}',
      credential: () => ({ secret: 'sk-ant-test' }),
      headers: {},
      modelPrefix: '',
      traits: () => ({ api: '', quirks: new Set(), maxOutputTokens: 8192 }),
    })
    scope.defer(() => client.close())
    const rates = {
      inputPerMillionUsd: 3, outputPerMillionUsd: 15, cacheReadPerMillionUsd: 0.3, cacheWritePerMillionUsd: 3.75,
    }
    const candidate = { provider: 'anthropic', model: 'claude-test', client, rates, contextWindow: 200000 }
    scope.tap('providerResolving', async () => [candidate], { stage: STAGE.first - 1 })
  },
})
`

async function booted(respond: Respond): Promise<Booted> {
  server = await startModelServer(respond)
  dir = await mkdtemp(join(tmpdir(), 'messages-run-'))
  await mkdir(join(dir, 'plugins/router'), { recursive: true })
  await writeFile(join(dir, 'plugins/router/index.js'), routerTo(server.origin))
  live = await boot({
    isDurable: true,
    settings: { provider: '', plugin_dirs: [join(dir, 'plugins')], retry_max_total_sec: 5 },
  })
  return live
}

const STEPS: readonly ScriptedTurn[] = [
  {
    thinking: 'a file first',
    text: 'First a file.',
    toolCalls: [{ id: 'toolu_1', name: 'write', arguments: { path: 'src/grüße.sh', content: 'echo "hellö 🎈"\n' } }],
  },
  {
    toolCalls: [
      { id: 'toolu_2', name: 'edit', arguments: { path: 'src/grüße.sh', old_text: 'hellö', new_text: 'goodbye' } },
    ],
  },
  {
    text: 'Now I look at it.',
    toolCalls: [
      { id: 'toolu_3', name: 'read', arguments: { path: 'src/grüße.sh' } },
      { id: 'toolu_4', name: 'read', arguments: { path: 'src/missing.sh' } },
      { id: 'toolu_5', name: 'grep', arguments: { query: 'goodbye' } },
    ],
  },
  { toolCalls: [{ id: 'toolu_6', name: 'bash', arguments: { command: 'sh src/grüße.sh | tee said.txt' } }] },
  { chunks: ['It says ', 'goodbye', ' 🎈.'] },
]

test('a run of five steps: tools do as they are told, every step reads the cache of the step before, cost is exact', async () => {
  const random = seeded('messages run')
  const cache = new PromptCache()
  const uses: CacheUse[] = []
  const found: string[] = []
  const { run, workspace } = await booted(async (call, response, index) => {
    const body = call.body as unknown as MessagesBody
    found.push(...objections(body))
    const use = cache.use(body)
    uses.push(use)
    const usage = {
      prompt: use.read + use.written + use.plain,
      completion: 7 + index,
      cached: use.read,
      cacheWritten: use.written,
    }
    const bytes = Buffer.from(MESSAGES_WIRE.frames({ ...STEPS[index], usage }).join(''))
    stream(response)
    for (let at = 0; at < bytes.length; ) {
      const next = at + 1 + Math.floor(random() * 60)
      response.write(bytes.subarray(at, next))
      at = next
      await loopTurns(1)
    }
    response.end()
  })
  const events = await run({ prompt: 'Make it say goodbye.', conversation_id: 'talk' })

  expect(found).toEqual([])
  const started = events.filter(({ type }) => type === 'tool.call.started').map(({ payload }) => payload)
  expect(started.map(call => [call?.call_id, call?.tool])).toEqual(
    STEPS.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id, name }) => [id, name])),
  )
  const failed = events.filter(({ type, payload }) => type === 'tool.call.completed' && payload?.error)
  expect(failed.map(({ payload }) => payload?.call_id)).toEqual(['toolu_4'])
  expect(await readFile(join(workspace, 'said.txt'), 'utf8')).toBe('goodbye 🎈\n')

  expect(uses).toHaveLength(5)
  for (const [index, { read }] of uses.entries()) {
    const before = uses[index - 1]
    expect(read).toBe(before === undefined ? 0 : before.read + before.written)
  }
  const sum = (each: (use: CacheUse) => number) => uses.reduce((total, use) => total + each(use), 0)
  const completion = uses.reduce((total, _, index) => total + 7 + index, 0)
  // Hundredths of a dollar per million tokens are whole numbers, so that the sum is exact.
  const hundredths =
    300 * sum(use => use.plain) + 30 * sum(use => use.read) + 375 * sum(use => use.written) + 1500 * completion
  expect(events.at(-1)).toMatchObject({
    type: 'run.completed',
    payload: {
      output: 'It says goodbye 🎈.',
      usage_totals: {
        prompt_tokens_total: sum(({ read, written, plain }) => read + written + plain),
        completion_tokens_total: completion,
      },
      cost_totals: { cost_usd_total: Number(`${hundredths}e-8`), cost_status: 'available' },
    },
  })
})

test('an error in the stream before anything was shown is asked again; after that nothing is', async () => {
  const overloaded = messagesEvent('error', { error: { type: 'overloaded_error', message: 'Overloaded' } })
  const [begin = '', chunk = '', ...rest] = MESSAGES_WIRE.frames({ chunks: ['half '] })
  const bodies = [begin + overloaded, [begin, chunk, ...rest].join(''), begin + chunk + overloaded]
  const { run } = await booted((_, response, index) => void stream(response).end(bodies[index]))
  expect((await run('one')).at(-1)).toMatchObject({ type: 'run.completed', payload: { output: 'half ' } })
  expect((await run('two')).at(-1)).toMatchObject({
    type: 'run.failed',
    payload: { error: expect.stringMatching(/^provider completion failed: .*Overloaded/) },
  })
  expect(server?.calls).toHaveLength(3)
})

test('a refused key fails the run at once and in plain words, without the key', async () => {
  const { run } = await booted((_, response) => {
    response.writeHead(401, { 'content-type': 'application/json' })
    response.end(MESSAGES_WIRE.error('invalid x-api-key sk-ant-test', 'authentication_error'))
  })
  const end = (await run('one')).at(-1)
  expect(end).toMatchObject({ type: 'run.failed', payload: { error: expect.stringContaining('invalid x-api-key') } })
  expect(JSON.stringify(end)).not.toContain('sk-ant-test')
  expect(server?.calls).toHaveLength(1)
})
