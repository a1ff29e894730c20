import { afterEach, describe, expect, test } from 'vitest'
import {
  openProtocolServer,
  type ProtocolServerOptions,
  RUN_ID,
  type ScriptedEvent,
} from './testing/protocol-server.js'
import { testEnvironment } from './testing/test-environment.js'

const totals = {
  usage_totals: { prompt_tokens_total: 1200, completion_tokens_total: 85, total_tokens: 1285, last_turn_tokens: 90 },
  cost_totals: { cost_usd_total: 0.0042, last_turn_cost_usd: 0.001, cost_status: 'available' },
}
const completed: ScriptedEvent = { type: 'run.completed', payload: { output: 'All pass.', ...totals } }
const script: readonly ScriptedEvent[] = [
  { type: 'run.started', payload: { prompt: 'p' } },
  { type: 'provider.resolved', payload: { model: 'small', provider: 'fake' } },
  { type: 'llm.turn.requested' },
  { type: 'assistant.message.delta', payload: { content: 'Testing: ünï 日本' } },
  { type: 'assistant.message.delta', payload: { content: ' now.' } },
  { type: 'tool.call.started', payload: { call_id: 'c1', tool: 'bash', arguments: '{"command":"npm test"}' } },
  { type: 'tool.output.delta', payload: { call_id: 'c1', tool: 'bash', content: 'line 1\nline' } },
  { type: 'tool.output.delta', payload: { call_id: 'c1', tool: 'bash', content: ' 2\nline 3\n' } },
  { type: 'tool.call.completed', payload: { call_id: 'c1', tool: 'bash', output: '{}', duration_ms: 120 } },
  { type: 'llm.turn.requested' },
  { type: 'assistant.message.delta', payload: { content: 'All pass.' } },
  { type: 'assistant.message', payload: { content: 'All pass.' } },
  completed,
]

const servers: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})
async function serverWith(options: Partial<ProtocolServerOptions>) {
  const server = await openProtocolServer({ events: script, ...options })
  servers.push(server)
  return server
}

describe('a run on a terminal', () => {
  test('streams text, shows tool calls as lines and ends with the price', async () => {
    const { baseUrl } = await serverWith({})
    const { run } = testEnvironment({ baseUrl })
    expect(await run('run', 'p', '--tool-output', '2')).toEqual({
      code: 0,
      err: '',
      out: `${RUN_ID}
small via fake

Testing: ünï 日本 now.

→ bash  npm test
  │ line 1
  │ line 2
  │ … 1 more line
✓ 120 ms

All pass.

✓ completed · 2 steps · 1,200 in, 85 out tokens · $0.0042 · 1.2 s
`,
    })
  })

  test('has colours only where the terminal wants them', async () => {
    const { baseUrl } = await serverWith({})
    const outputs = await Promise.all(
      [
        { isTty: { stdin: true, stdout: true } },
        { isTty: { stdin: true, stdout: true }, isColourOff: true },
        { isTty: { stdin: true, stdout: false } },
      ].map(async overrides =>
        (await testEnvironment({ baseUrl, ...overrides }).run('run', 'p')).out.includes('\u001b['),
      ),
    )
    expect(outputs).toEqual([true, false, false])
  })

  test('nothing a model, a tool or a tool’s name says reaches the terminal as a control sequence', async () => {
    const evil = '\u001b]0;title\u0007\u001b[2J\u009b31m\r\u0008\u202eabc\u0000'
    const { baseUrl } = await serverWith({
      events: [
        { type: 'llm.turn.requested' },
        { type: 'assistant.thinking.delta', payload: { content: evil } },
        { type: 'assistant.message.delta', payload: { content: `a\u001b` } },
        { type: 'assistant.message.delta', payload: { content: `[31m${evil}` } },
        {
          type: 'tool.call.started',
          payload: { call_id: 'c', tool: evil, arguments: JSON.stringify({ command: evil }) },
        },
        { type: 'tool.output.delta', payload: { call_id: 'c', tool: evil, content: `${evil}\n` } },
        { type: 'tool.call.completed', payload: { call_id: 'c', tool: evil, error: evil, duration_ms: 1 } },
        { type: 'tool.call.blocked', payload: { call_id: 'd', tool: evil, reason: evil } },
        { type: 'prompt.warning', payload: { code: 'x', message: evil } },
        { type: 'steering.received', payload: { message: evil } },
        { type: 'run.failed', payload: { error: evil, reason: evil, ...totals } },
      ],
    })
    const { out, code } = await testEnvironment({ baseUrl }).run('run', 'p')
    expect({ code, harmful: out.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/g) }).toEqual({
      code: 2,
      harmful: null,
    })
  })

  test('results are shown by their form: a change, a list, a command that failed', async () => {
    const call = (tool: string, result: object) => [
      { type: 'tool.call.started', payload: { call_id: tool, tool, arguments: '{"path":"x"}' } },
      { type: 'tool.call.completed', payload: { call_id: tool, tool, output: JSON.stringify(result), duration_ms: 1 } },
    ]
    const { baseUrl } = await serverWith({
      events: [
        { type: 'llm.turn.requested' },
        ...call('edit', { path: 'x', diff: '--- x\n+++ x\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n' }),
        ...call('ls', { entries: ['a/', 'b\u001b[2J'] }),
        ...call('grep', { matches: [{ path: 'x', line_number: 3, line: 'three' }, { other: 1 }] }),
        ...call('bash', { exit_code: 2, output: 'no such file\n' }),
        ...call('wait', { timed_out: true, exit_code: -1, output: '' }),
        completed,
      ],
    })
    const { out } = await testEnvironment({ baseUrl }).run('run', 'p')
    expect(out.split('\n\n')[0]).toBe(`→ edit  x
  │  one
  │ -two
  │ +three
✓ 1 ms
→ ls  x
  │ a/
  │ b␛[2J
✓ 1 ms
→ grep  x
  │ x:3: three
  │ {"other":1}
✓ 1 ms
→ bash  x
  │ no such file
✗ exit 2  1 ms
→ wait  x
✗ timed out  1 ms`)
  })

  test('calls that run together are told apart by name', async () => {
    const { baseUrl } = await serverWith({
      events: [
        { type: 'llm.turn.requested' },
        { type: 'tool.call.started', payload: { call_id: 'a', tool: 'read', arguments: '{"path":"a.txt"}' } },
        { type: 'tool.call.started', payload: { call_id: 'b', tool: 'grep', arguments: '{"x":[1]}' } },
        { type: 'tool.call.completed', payload: { call_id: 'b', tool: 'grep', error: 'no match', duration_ms: 4 } },
        { type: 'tool.call.completed', payload: { call_id: 'a', tool: 'read', output: 'hello', duration_ms: 5 } },
        completed,
      ],
    })
    const { out } = await testEnvironment({ baseUrl }).run('run', 'p')
    expect(out).toBe(`→ read  a.txt
→ grep  {"x":[1]}
✗ grep  no match  4 ms
  │ read  hello
✓ read  5 ms

All pass.

✓ completed · 1 step · 1,200 in, 85 out tokens · $0.0042
`)
  })
})

describe('a run for a program', () => {
  test('--json prints each envelope on a line, byte for byte, and nothing else', async () => {
    const server = await serverWith({})
    const { run } = testEnvironment({ baseUrl: server.baseUrl })
    expect(await run('run', 'p', '--json')).toEqual({ code: 0, err: '', out: server.lines() })
  })

  test('--quiet prints the final answer only', async () => {
    const { baseUrl } = await serverWith({})
    expect(await testEnvironment({ baseUrl }).run('run', 'p', '-q')).toEqual({ code: 0, err: '', out: 'All pass.\n' })
  })

  test('a stream that is cut at random bytes equals the log, each event once', async () => {
    const seed = Date.now() % 1_000_000
    const cutAfterBytes = Array.from({ length: 40 }, (_, index) => 60 + ((seed * (index + 1) * 7919) % 900))
    const server = await serverWith({ cutAfterBytes, pieceBytes: 7 })
    const { run } = testEnvironment({ baseUrl: server.baseUrl })
    const result = await run('run', 'p', '--json')
    expect({ seed, code: result.code, out: result.out }).toEqual({ seed, code: 0, out: server.lines() })
    const resumed = server.seen
      .filter(({ path }) => path.endsWith('/events'))
      .map(({ headers }) => headers['last-event-id'])
    expect(resumed.length).toBeGreaterThan(2)
    expect(resumed.at(-1)).toMatch(new RegExp(`^${RUN_ID}:\\d+$`))
  })

  test('an event that comes again is not shown again', async () => {
    const server = await serverWith({ cutAfterBytes: [900, 1500], isForgetful: true })
    const { run } = testEnvironment({ baseUrl: server.baseUrl })
    expect(await run('run', 'p', '--json')).toMatchObject({ code: 0, out: server.lines() })
  })

  test('an outage is told once, on stderr', async () => {
    const { baseUrl } = await serverWith({ cutAfterBytes: [10, 10, 10] })
    const { code, err } = await testEnvironment({ baseUrl }).run('run', 'p', '--json')
    expect(code).toBe(0)
    expect(err.match(/lost the stream/g)).toHaveLength(3)
  })
})

describe('the exit code', () => {
  test.each([
    ['run.completed', 0],
    ['run.failed', 2],
    ['run.cancelled', 6],
  ])('%s is %i', async (type, code) => {
    const { baseUrl } = await serverWith({ events: [{ type, payload: { error: 'e', ...totals } }] })
    expect((await testEnvironment({ baseUrl }).run('run', 'p', '--json')).code).toBe(code)
  })

  test.each(['run.waiting_for_user', 'tool.approval_required'])(
    '%s with nobody at the terminal is 3, says how to answer, and leaves the run alive',
    async type => {
      const status = type === 'run.waiting_for_user' ? 'waiting_for_user' : 'waiting_for_approval'
      const payload = { call_id: 'c', tool: 'bash', arguments: '{}', questions: [{ question: 'Which?' }] }
      const server = await serverWith({ status, events: [{ type: 'run.started' }, { type, payload }] })
      const { code, err } = await testEnvironment({ baseUrl: server.baseUrl }).run('run', 'p', '--json')
      expect(code).toBe(3)
      expect(err).toContain(
        type === 'run.waiting_for_user'
          ? `runwright answer ${RUN_ID} 'Which?=<answer>'`
          : `runwright approve ${RUN_ID} --call c`,
      )
      expect(err).toContain(`runwright attach ${RUN_ID} --after ${RUN_ID}:1`)
      expect(server.seen.some(({ path }) => path.endsWith('/cancel'))).toBe(false)
    },
  )

  test('a question of a replay that was answered long ago does not stop the watcher', async () => {
    const server = await serverWith({
      status: 'completed',
      events: [{ type: 'tool.approval_required', payload: { call_id: 'c', tool: 'bash', arguments: '{}' } }, completed],
    })
    expect((await testEnvironment({ baseUrl: server.baseUrl }).run('attach', RUN_ID, '-q')).code).toBe(0)
  })

  test.each(['approved', 'pending'])(
    'an approval that its checkpoint shows as %s, not yet read by the run',
    async status => {
      const payload = { call_id: 'c', tool: 'bash', arguments: '{}', checkpoint_id: 'checkpoint_1' }
      const server = await serverWith({
        status: 'waiting_for_approval',
        events: [{ type: 'tool.approval_required', payload }, completed],
        answer: ({ path }) => (path === '/v1/checkpoints/checkpoint_1' ? { status: 200, body: { status } } : undefined),
      })
      const { code, err } = await testEnvironment({ baseUrl: server.baseUrl }).run('attach', RUN_ID, '-q')
      expect([code, err.includes('waits for a person')]).toEqual(status === 'approved' ? [0, false] : [3, true])
    },
  )

  test('a daemon that is gone for good is 1, and the way back is told', async () => {
    const server = await serverWith({ events: script.slice(0, 4), cutAfterBytes: [700] })
    const { run, out, err } = testEnvironment({ baseUrl: server.baseUrl })
    const running = run('run', 'p', '--json')
    await expect.poll(() => out.text()).toContain('run.started')
    await server.close()
    expect((await running).code).toBe(1)
    expect(err.text()).toContain('no daemon answers')
    expect(err.text()).toContain(`runwright attach ${RUN_ID} --after ${RUN_ID}:`)
  })

  test.each([['run'], ['attach']])('no daemon at all is 1 for %s, at once, with the way to start one', async name => {
    const reconnect = { firstMs: 60_000, maxMs: 60_000, giveUpMs: 60_000 }
    const { code, err, out } = await testEnvironment({ reconnect }).run(name, RUN_ID)
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(
      /^runwright: no daemon answers at http:\/\/127\.0\.0\.1:9 .*\n {2}Start one with "npm start".*\n$/,
    )
  })

  test('attach waits for a daemon that went away while it watched', async () => {
    const server = await serverWith({ cutAfterBytes: [700] })
    const { code, err } = await testEnvironment({ baseUrl: server.baseUrl }).run('attach', RUN_ID)
    expect({ code, err }).toEqual({
      code: 0,
      err: 'runwright: lost the stream (the connection was cut); reconnecting\nrunwright: connected again\n',
    })
  })
})

describe('an interrupt', () => {
  const endless = script.slice(0, 5)

  test('cancels the run, shows its end and is 130', async () => {
    const server = await serverWith({ events: endless })
    const { run, out, interrupt } = testEnvironment({ baseUrl: server.baseUrl })
    const running = run('run', 'p')
    await expect.poll(() => out.text()).toContain('now.')
    interrupt()
    expect(await running).toMatchObject({ code: 130, out: expect.stringContaining('■ cancelled') })
    expect(server.seen.at(-1)).toMatchObject({ method: 'POST', path: `/v1/runs/${RUN_ID}/cancel` })
  })

  test('a second one leaves at once, also when the run does not end', async () => {
    const server = await serverWith({
      events: endless,
      answer: ({ path }) => (path.endsWith('/cancel') ? { status: 200, body: { status: 'cancelling' } } : undefined),
    })
    const { run, out, interrupt } = testEnvironment({ baseUrl: server.baseUrl })
    const running = run('run', 'p')
    await expect.poll(() => out.text()).toContain('now.')
    interrupt()
    interrupt()
    expect((await running).code).toBe(130)
  })

  test('attach only stops looking', async () => {
    const server = await serverWith({ events: endless })
    const { run, out, interrupt } = testEnvironment({ baseUrl: server.baseUrl })
    const running = run('attach', RUN_ID)
    await expect.poll(() => out.text()).toContain('now.')
    interrupt()
    expect(await running).toMatchObject({ code: 130, err: expect.stringContaining('the run goes on') })
    expect(server.seen.some(({ path }) => path.endsWith('/cancel'))).toBe(false)
  })
})

test('attach starts behind the event it is told', async () => {
  const server = await serverWith({})
  const { run } = testEnvironment({ baseUrl: server.baseUrl })
  const { out } = await run('attach', RUN_ID, '--after', '10', '--json')
  expect(
    out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line).id),
  ).toEqual([`${RUN_ID}:11`, `${RUN_ID}:12`])
})

test.each([
  ['completed', 0],
  ['failed', 2],
  ['cancelled', 6],
])('attach behind the end of a %s run says so and is %i', async (status, code) => {
  const server = await serverWith({ status })
  const { run } = testEnvironment({ baseUrl: server.baseUrl })
  expect(await run('attach', RUN_ID, '--after', `${script.length - 1}`)).toEqual({
    code,
    out: '',
    err: `runwright: no more events follow; the run is ${status}\n`,
  })
})
