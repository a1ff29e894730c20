import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { isTerminalEvent } from '#contracts/event/payloads'
import { type Booted, boot } from '#test/kit/boot'

const PLUGIN = `
import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
const tool = (name, execute, more = {}) => ({ name, description: name, parameters: Type.Object({}), action: 'read', execute, ...more })
export const plugin = definePlugin({
  name: 'clumsy', config: Type.Object({}),
  register(scope) {
    scope.tool(tool('throws_at_once', () => { throw new Error('at once') }))
    scope.tool(tool('rejects', async () => { throw new Error('later') }))
    scope.tool(tool('answers_nothing', async () => undefined))
    scope.tool(tool('answers_undefined', async () => ({ output: undefined })))
    scope.tool(tool('answers_bigint', async () => ({ output: { n: 1n } })))
    scope.tool(tool('trips_over_aliases', async () => ({ output: 'ok' }), { normalise() { throw new Error('alias') } }))
    let inside = 0, most = 0
    scope.tool(tool('slow', async (_args, { signal }) => {
      most = Math.max(most, ++inside)
      signal.addEventListener('abort', () => undefined)
      await new Promise(resolve => setTimeout(resolve, 5))
      inside--
      return { output: String(most) }
    }))
    scope.tool(tool('deaf', (_args, { output }) => new Promise(() => setInterval(() => output('still here'), 50))))
  },
})
`
let live: Booted | undefined
let dir = ''
afterEach(async () => {
  await live?.stop()
  await rm(dir, { recursive: true, force: true })
})

async function start(...names: string[]): Promise<Booted> {
  dir = await mkdtemp(join(tmpdir(), 'runwright-clumsy-'))
  await mkdir(join(dir, 'clumsy'))
  await writeFile(join(dir, 'clumsy', 'index.js'), PLUGIN)
  const turns = [
    { tool_calls: names.map(name => ({ id: `call-${name}`, name, arguments: '{}' })) },
    { content: 'went on' },
  ]
  live = await boot({ turns, settings: { plugin_dirs: [dir] } })
  return live
}

test('whatever a tool does wrong is its result, and the run goes on', async () => {
  const names = [
    'throws_at_once',
    'rejects',
    'answers_nothing',
    'answers_undefined',
    'answers_bigint',
    'trips_over_aliases',
  ]
  const { run } = await start(...names)
  const events = await run('go')
  const answers = events.filter(({ type }) => type === 'tool.call.completed').map(({ payload }) => payload?.output)
  expect(answers).toEqual([
    expect.stringContaining('at once'),
    expect.stringContaining('later'),
    expect.stringContaining('a defect of the tool'),
    '',
    expect.stringContaining('cannot be written as JSON'),
    'ok',
  ])
  expect(events.at(-1)).toMatchObject({ type: 'run.completed', payload: { output: 'went on' } })
})

test('a tool that ignores the end of its run adds nothing to it', { timeout: 60_000 }, async () => {
  const { start: begin, until, request, events } = await start('deaf')
  const id = await begin('go')
  await until(id, 'tool.output.delta')
  await request('POST', `/v1/runs/${id}/cancel`)
  const first = await events(id)
  await sleep(300)
  const again = await events(id)
  expect(again).toEqual(first)
  expect(again.findIndex(({ type }) => isTerminalEvent(type))).toBe(again.length - 1)
})

test('calls that a cost limit left undone have a result, so that the conversation can go on', async () => {
  const turns = [
    {
      content: 'so far',
      tool_calls: [{ id: 'c1', name: 'ls', arguments: '{}' }],
      cost_usd: 2,
      usage: { prompt: 1, completion: 1 },
    },
    { content: 'next' },
  ]
  live = await boot({ turns })
  await live.run({ prompt: 'go', max_cost_usd: 1, conversation_id: 'talk' })
  const next = await live.run({ prompt: 'on', conversation_id: 'talk' })
  expect(next.find(({ type }) => type === 'conversation.continued')?.payload?.prior_message_count).toBe(3)
})

test.each(['', '-wal', '-shm', '-journal', '.lock'])('no tool sees or takes runs.db%s', async suffix => {
  const path = `r.db${suffix}`
  const turns = [
    {
      tool_calls: [
        { id: 'a', name: 'write', arguments: JSON.stringify({ path, content: 'x' }) },
        { id: 'b', name: 'read', arguments: JSON.stringify({ path }) },
        {
          id: 'c',
          name: 'bash',
          arguments: JSON.stringify({ command: `rm -f ${path}; echo x > ${path}; cat ${path} | head -c 20` }),
        },
      ],
    },
    { content: 'done' },
  ]
  dir = await mkdtemp(join(tmpdir(), 'runwright-side-'))
  live = await boot({ turns, dir, settings: { run_db: join(dir, 'workspace', 'r.db') } })
  const events = await live.run('go')
  const [write, read] = events.filter(({ type }) => type === 'tool.call.completed').map(({ payload }) => payload)
  expect([write?.error, read?.error].every(Boolean)).toBe(true)
  expect((await live.request('GET', `/v1/runs/${events[0]?.run_id}`)).body.status).toBe('completed')
  const { url } = live
  await live.stop()
  live = await boot({ dir, settings: { run_db: join(dir, 'workspace', 'r.db') } })
  expect(live.url).not.toBe(url)
  expect(await live.events(events[0]?.run_id ?? '')).toEqual(events)
})

test('of the many calls of one turn a few work at a time', async () => {
  const warnings: string[] = []
  const listen = ({ name }: Error) => void warnings.push(name)
  process.on('warning', listen)
  const { run } = await start(...Array<string>(100).fill('slow'))
  const answers = (await run('go')).filter(({ type }) => type === 'tool.call.completed')
  process.off('warning', listen)
  expect([answers.length, answers.at(-1)?.payload?.output, warnings]).toEqual([100, '8', []])
})
