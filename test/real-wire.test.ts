import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Booted, boot } from '#test/kit/boot'
import { type ChatServer, startChatServer } from '#test/kit/chat-server'

let server: ChatServer | undefined
let live: Booted | undefined
afterEach(async () => {
  await live?.stop()
  await server?.close()
  live = server = undefined
})

test('over a chat-completions server a run edits files, runs a command in the sandbox, and completes', async () => {
  server = await startChatServer({
    turns: [
      {
        text: 'First a file.',
        toolCalls: [{ name: 'write', arguments: { path: 'src/greet.sh', content: 'echo hello\n' } }],
      },
      { toolCalls: [{ name: 'edit', arguments: { path: 'src/greet.sh', old_text: 'hello', new_text: 'goodbye' } }] },
      {
        toolCalls: [
          { name: 'read', arguments: { path: 'src/greet.sh' } },
          { name: 'grep', arguments: { query: 'goodbye' } },
        ],
      },
      { toolCalls: [{ name: 'bash', arguments: { command: 'sh src/greet.sh | tee said.txt' } }], chunkDelayMs: 2 },
      { chunks: ['It says ', 'goodbye.'], usage: { prompt: 1000, completion: 100, cached: 400 } },
    ],
  })
  live = await boot({ modelUrl: server.baseUrl, isDurable: true })
  const events = await live.run({ prompt: 'Make it say goodbye.', model: 'gpt-4.1', conversation_id: 'talk' })
  const completed = events.filter(({ type }) => type === 'tool.call.completed').map(({ payload }) => payload)
  expect(completed.map(call => [call?.tool, call?.error])).toEqual([
    ['write', undefined],
    ['edit', undefined],
    ['read', undefined],
    ['grep', undefined],
    ['bash', undefined],
  ])
  expect(await readFile(join(live.workspace, 'said.txt'), 'utf8')).toBe('goodbye\n')
  // Four turns of 10 and 5 tokens and one of 1,000 and 100, at 2 and 8 dollars a million; no cache rate is known.
  expect(events.at(-1)).toMatchObject({
    type: 'run.completed',
    payload: {
      output: 'It says goodbye.',
      usage_totals: { prompt_tokens_total: 1040, completion_tokens_total: 120, total_tokens: 1160 },
      cost_totals: { cost_usd_total: 0.00304, cost_status: 'available' },
    },
  })
  const last = await server.call(4)
  const roles = ((last.body?.messages ?? []) as { role: string }[]).map(({ role }) => role)
  // The last one is the runtime context, which is no part of the transcript.
  expect(roles.slice(0, -1)).toEqual([
    'system',
    'user',
    'assistant',
    'tool',
    'assistant',
    'tool',
    'assistant',
    'tool',
    'tool',
    'assistant',
    'tool',
  ])
})

test('a provider that is busy is asked again, and what was streamed is never asked twice', async () => {
  server = await startChatServer({
    turns: [
      { status: 429, headers: { 'retry-after': '0' } },
      { text: 'there' },
      { chunks: ['half ', 'an ', 'answer'], chunkDelayMs: 20, breakAfterChunks: 3 },
    ],
  })
  live = await boot({ modelUrl: server.baseUrl })
  expect((await live.run('one')).at(-1)).toMatchObject({ type: 'run.completed', payload: { output: 'there' } })
  const broken = await live.run('two')
  expect(broken.at(-1)).toMatchObject({
    type: 'run.failed',
    payload: { error: expect.stringMatching(/^provider completion failed: /) },
  })
  expect(server.calls).toHaveLength(3)
})

test('a refused key fails the run at once and in plain words, without the key', async () => {
  server = await startChatServer({ turns: [{ status: 401, errorMessage: 'bad key test-key' }] })
  live = await boot({ modelUrl: server.baseUrl })
  const end = (await live.run('one')).at(-1)
  expect(end?.type).toBe('run.failed')
  expect(end?.payload?.error).not.toContain('test-key')
  expect(server.calls).toHaveLength(1)
})
