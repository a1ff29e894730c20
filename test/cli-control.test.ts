import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, describe, expect, test } from 'vitest'
import type { CliEnvironment } from '#kernel/cli/index'
import { openProtocolServer, RUN_ID } from '#kernel/cli/testing/protocol-server'
import { testEnvironment } from '#kernel/cli/testing/test-environment'
import { type Booted, type BootOptions, boot, type FakeTurn } from './kit/boot.js'

const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function booted(turns: readonly FakeTurn[], options: BootOptions = {}): Promise<Booted> {
  const daemon = await boot({ turns, ...options })
  undo.push(daemon.stop)
  return daemon
}

/** The command line with a person at the keyboard. */
function atTerminal(baseUrl: string, overrides: Partial<CliEnvironment> = {}) {
  const keyboard = new PassThrough()
  const cli = testEnvironment({ baseUrl, stdin: keyboard, isTty: { stdin: true, stdout: false }, ...overrides })
  return {
    ...cli,
    type: (line: string) => keyboard.write(`${line}\n`),
    hangUp: () => keyboard.end(),
    asked: (text: string) => expect.poll(() => cli.err.text(), { timeout: 10_000 }).toContain(text),
  }
}

const away = (baseUrl: string) => testEnvironment({ baseUrl })
const idIn = (text: string): string => /run_[0-9a-f-]{36}/.exec(text)?.[0] ?? ''
const call = (name: string, args: object): FakeTurn => ({ tool_calls: [{ name, arguments: args }] })
const write = (path: string, content = 'text') => call('write', { path, content })
const colour = {
  question: 'Which colour?',
  header: 'Colour',
  options: [
    { label: 'Red', description: 'as blood' },
    { label: 'Blue', description: 'as the sky' },
  ],
}
const parts = { ...colour, question: 'Which parts?', header: 'Parts', multiSelect: true }
const ask = (...questions: object[]) => call('AskUserQuestion', { questions })
const done: FakeTurn = { content: 'All done.' }
const plan: FakeTurn = { content: '# Plan\n\n## Approaches\n- Fast: one file\n- Clean: two files\n' }

describe('an approval at the terminal', () => {
  test('shows the whole call, harmless, and y lets it run', async () => {
    const { url, workspace } = await booted([write('a.txt', 'one\n\u001b[2Jtwo\nAllow write? y'), done])
    const { run, type, asked, err } = atTerminal(url)
    const running = run('run', 'p', '--approval', 'all')
    await asked('Allow write? y, or n and why: ')
    expect(err.text()).toContain(`The agent wants to use write:
  │ path: a.txt
  │ content:
  │   one
  │   ␛[2Jtwo
  │   Allow write? y
`)
    type('')
    type('y')
    expect(await running).toMatchObject({ code: 0, out: expect.stringContaining('write was approved') })
    expect(existsSync(join(workspace, 'a.txt'))).toBe(true)
  })

  test.each([
    ['y', '/approve', { call_id: 'c7', checkpoint_id: 'checkpoint_7' }],
    ['n why', '/deny', { call_id: 'c7', checkpoint_id: 'checkpoint_7', message: 'why' }],
  ])('%s is sent for the very call that was shown', async (line, path, body) => {
    const payload = { call_id: 'c7', tool: 'bash', arguments: '{}', checkpoint_id: 'checkpoint_7' }
    const server = await openProtocolServer({
      status: 'waiting_for_approval',
      events: [{ type: 'tool.approval_required', payload }],
      answer: request => (request.path.endsWith(path) ? { status: 200, body: { status: 'done' } } : undefined),
    })
    undo.push(server.close)
    const { run, type, asked, interrupt } = atTerminal(server.baseUrl)
    const running = run('attach', RUN_ID)
    await asked('Allow bash?')
    type(line)
    await expect.poll(() => server.seen.find(request => request.path.endsWith(path))?.body).toEqual(body)
    interrupt()
    await running
  })

  test('a lost connection is told on a line of its own, and the question stands again below it', async () => {
    const payload = { call_id: 'c7', tool: 'bash', arguments: '{}' }
    const server = await openProtocolServer({
      status: 'waiting_for_approval',
      events: [{ type: 'tool.approval_required', payload }, { type: 'llm.turn.requested' }],
      cutAfterBytes: [600],
    })
    undo.push(server.close)
    const reconnect = { firstMs: 300, maxMs: 300, giveUpMs: 60_000 }
    const { run, asked, interrupt, err } = atTerminal(server.baseUrl, { reconnect })
    const running = run('attach', RUN_ID)
    await asked('connected again')
    interrupt()
    await running
    const question = 'Allow bash? y, or n and why: '
    expect(err.text()).toContain(`\nrunwright: connected again\n${question}\n`)
  })

  test('n with a reason denies it, and the model is told why', async () => {
    const { url, workspace, events } = await booted([write('a.txt'), done])
    const { run, type, asked } = atTerminal(url)
    const running = run('run', 'p', '--approval', 'all')
    await asked('Allow write?')
    type('n not that file')
    const { code, out } = await running
    expect(code).toBe(0)
    const denied = (await events(idIn(out))).find(event => event.type === 'tool.approval_denied')
    expect(denied?.payload).toMatchObject({ message: 'not that file' })
    expect(existsSync(join(workspace, 'a.txt'))).toBe(false)
  })

  test('what was typed ahead answers one question and not the next', async () => {
    const { url, workspace } = await booted([write('a.txt'), write('b.txt'), done])
    const { run, type, asked, err } = atTerminal(url)
    const running = run('run', 'p', '--approval', 'all')
    await asked('Allow write?')
    type('y\ny')
    await asked('path: b.txt')
    expect(existsSync(join(workspace, 'a.txt'))).toBe(true)
    await expect.poll(() => err.text().split('Allow write?').length).toBe(3)
    expect(existsSync(join(workspace, 'b.txt'))).toBe(false)
    type('n')
    expect((await running).code).toBe(0)
    expect(existsSync(join(workspace, 'b.txt'))).toBe(false)
  })

  test('what was typed before a question could be read answers nothing', async () => {
    const { url, workspace } = await booted([write('a.txt'), { ...write('b.txt'), delay_ms: 300 }, done])
    const { run, type, asked, out, err } = atTerminal(url)
    type('y')
    const running = run('run', 'p', '--approval', 'all')
    await asked('path: a.txt')
    await asked('Allow write?')
    expect(existsSync(join(workspace, 'a.txt'))).toBe(false)
    type('n')
    await expect.poll(() => out.text()).toContain('write was denied')
    type('y')
    await asked('path: b.txt')
    await expect.poll(() => err.text().split('Allow write?').length).toBe(3)
    expect(existsSync(join(workspace, 'b.txt'))).toBe(false)
    type('n')
    expect((await running).code).toBe(0)
    expect(existsSync(join(workspace, 'b.txt'))).toBe(false)
  })

  test('an answer given elsewhere closes the prompt; the next line answers nothing', async () => {
    const { url, request, events } = await booted([write('a.txt'), { ...done, delay_ms: 700 }])
    const { run, type, asked, out, err } = atTerminal(url)
    const running = run('run', 'p', '--approval', 'all')
    await asked('Allow write?')
    const id = idIn(out.text())
    expect((await request('POST', `/v1/runs/${id}/deny`, { message: 'no' })).status).toBe(200)
    await expect.poll(() => out.text()).toContain('write was denied: no')
    type('y')
    expect((await running).code).toBe(0)
    expect(err.text().split('Allow write? y, or n and why: ').at(-1)).toBe('\n')
    const types = (await events(id)).map(event => event.type)
    expect(types.filter(one => one.startsWith('tool.approval_'))).toEqual([
      'tool.approval_required',
      'tool.approval_denied',
    ])
  })

  test('of a keyboard and a program that answer at the same moment one wins, and the run ends', async () => {
    const { url, request, events } = await booted([write('a.txt'), done])
    const { run, type, asked, out } = atTerminal(url)
    const running = run('run', 'p', '--approval', 'all')
    await asked('Allow write?')
    const id = idIn(out.text())
    const other = request('POST', `/v1/runs/${id}/deny`)
    type('y')
    const [{ code }, { status }] = await Promise.all([running, other])
    expect(code).toBe(0)
    const answers = (await events(id)).filter(({ type: one }) => /^tool\.approval_(granted|denied)$/.test(one))
    expect(answers.map(event => event.type)).toEqual([
      status === 200 ? 'tool.approval_denied' : 'tool.approval_granted',
    ])
  })

  test('time that is up closes the prompt and the run goes on', async () => {
    const { url } = await booted([write('a.txt'), done], { settings: { ask_user_timeout_seconds: 1 } })
    const { run, asked } = atTerminal(url)
    const running = run('run', 'p', '--approval', 'all')
    await asked('Allow write?')
    expect(await running).toMatchObject({ code: 0, out: expect.stringContaining('write was denied: timeout') })
  })

  test('the end of the input leaves the run alive and says how to answer', async () => {
    const { url, request } = await booted([write('a.txt'), done])
    const { run, hangUp, asked } = atTerminal(url)
    const running = run('run', 'p', '--approval', 'all')
    await asked('Allow write?')
    hangUp()
    const { code, out, err } = await running
    expect(code).toBe(3)
    expect(err).toContain(`runwright approve ${idIn(out)} --checkpoint checkpoint_`)
    expect((await request('GET', `/v1/runs/${idIn(out)}`)).body.status).toBe('waiting_for_approval')
  })

  test('an interrupt cancels the run that is asking', async () => {
    const { url } = await booted([write('a.txt'), done])
    const { run, interrupt, asked } = atTerminal(url)
    const running = run('run', 'p', '--approval', 'all')
    await asked('Allow write?')
    interrupt()
    expect(await running).toMatchObject({ code: 130, out: expect.stringContaining('■ cancelled') })
  })

  test('attach asks what is pending and not what was answered before', async () => {
    const { url, request, start, until, events } = await booted([write('a.txt'), write('b.txt'), done])
    const id = await start({ prompt: 'p', permissions: { approval: 'all' } })
    await until(id, 'tool.approval_required')
    await request('POST', `/v1/runs/${id}/approve`)
    await expect
      .poll(async () => (await request('GET', `/v1/runs/${id}/checkpoint`)).body.args ?? '')
      .toContain('b.txt')
    const { run, type, asked, err } = atTerminal(url)
    const running = run('attach', id)
    await asked('path: b.txt')
    expect(err.text()).not.toContain('path: a.txt')
    type('y')
    expect((await running).code).toBe(0)
    expect((await events(id)).filter(event => event.type === 'tool.approval_granted')).toHaveLength(2)
  })

  test.each([['run'], ['continue', 'run_x']])('--approve-all needs somebody who watches: %s', async (...command) => {
    const { code, err } = await away('http://127.0.0.1:9').run(...command, 'p', '--approve-all', '--no-stream')
    expect([code, err]).toEqual([1, expect.stringContaining('give --approve-all or --no-stream, not both')])
  })

  test('--approve-all approves without a person, also without a terminal', async () => {
    const { url, workspace } = await booted([write('a.txt'), write('b.txt'), done])
    const { code, err } = await away(url).run('run', 'p', '--approval', 'all', '--approve-all')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(['a.txt', 'b.txt'].map(file => existsSync(join(workspace, file)))).toEqual([true, true])
  })
})

describe('a plan', () => {
  test('is shown with its approaches; a letter picks one', async () => {
    const { url, workspace } = await booted([plan, write('a.txt'), done])
    const { run, type, asked, err } = atTerminal(url)
    const running = run('run', 'p', '--plan')
    await asked('Carry it out: a, b; y keeps the plan only; n and what to change: ')
    expect(err.text()).toContain('The agent proposes a plan:\n  │ # Plan\n')
    expect(err.text()).toContain('  a) Fast: one file\n  b) Clean: two files\n')
    expect(existsSync(join(workspace, 'a.txt'))).toBe(false)
    type('a')
    expect((await running).code).toBe(0)
    expect(existsSync(join(workspace, 'a.txt'))).toBe(true)
  })

  test('from elsewhere: exit 3, deny with remarks, approve with an option', async () => {
    const { url, until } = await booted([plan, plan, done])
    const started = await away(url).run('run', 'p', '--plan')
    const id = idIn(started.out)
    expect(started.code).toBe(3)
    const [, first = ''] = /--checkpoint (checkpoint_[\w-]+) --option b/.exec(started.err) ?? []
    expect(await away(url).run('deny', id, '--checkpoint', first, '--message', 'shorter')).toEqual({
      code: 0,
      out: 'denied\n',
      err: '',
    })
    const again = await away(url).run('attach', id)
    expect([again.code, again.err.includes(first)]).toEqual([3, false])
    expect(await away(url).run('approve', id, '--checkpoint', first)).toMatchObject({
      code: 1,
      err: expect.stringContaining('is waiting for approval, not checkpoint_'),
    })
    expect(await away(url).run('approve', id, '--call', 'plan_exit_1')).toMatchObject({
      code: 1,
      err: expect.stringContaining('conflict: call_id: plan_exit_2 is waiting'),
    })
    const approved = await away(url).run('approve', id, '--call', 'plan_exit_2', '--option', 'b', '--json')
    expect(JSON.parse(approved.out)).toEqual({ status: 'approved' })
    expect((await until(id, 'run.completed')).payload?.output).toBe('All done.')
  })
})

describe('a question', () => {
  test('is asked with numbers, several where that is allowed, and wrong answers are asked again', async () => {
    const { url, events } = await booted([ask(colour, parts), done])
    const { run, type, asked, err } = atTerminal(url)
    const running = run('run', 'p')
    await asked('[Colour] Which colour?\n  1) Red: as blood\n  2) Blue: as the sky\nAnswer, 1-2: ')
    type('3')
    type('Green')
    type('2')
    await asked('Answer, 1-2, several with commas: ')
    type('1,1')
    type('red, 2')
    const { code, out } = await running
    expect({ code, asked: err.text().split('Answer, 1-2: ').length - 1 }).toEqual({ code: 0, asked: 3 })
    const result = (await events(idIn(out))).find(event => event.type === 'tool.call.completed')
    expect(JSON.parse(result?.payload?.output).answers).toEqual({ 'Which colour?': 'Blue', 'Which parts?': 'Red,Blue' })
  })

  test('answered elsewhere, or too late, closes the prompt', async () => {
    const first = await booted([ask(colour), done])
    const one = atTerminal(first.url)
    const running = one.run('run', 'p')
    await one.asked('Answer, 1-2: ')
    expect(await away(first.url).run('answer', idIn(one.out.text()), 'Blue')).toMatchObject({
      code: 0,
      out: 'accepted\n',
    })
    expect((await running).code).toBe(0)
    const second = await booted([ask(colour), done], { settings: { ask_user_timeout_seconds: 1 } })
    const other = atTerminal(second.url)
    expect(await other.run('run', 'p')).toMatchObject({ code: 2, err: expect.stringContaining('Answer, 1-2: ') })
  })

  test('with nobody there is exit 3; the printed command answers it', async () => {
    const { url, until, request } = await booted([ask(colour, parts), done])
    const { code, out, err } = await away(url).run('run', 'p')
    const id = idIn(out)
    expect(code).toBe(3)
    expect(err).toContain('asked:    Which colour? (Red | Blue)')
    const [, words = ''] = /runwright answer \S+ (.*)/.exec(err) ?? []
    expect(words).toBe("'Which colour?=Red' 'Which parts?=Red'")
    const answer = (...argv: string[]) => away(url).run('answer', id, ...argv)
    expect(JSON.parse((await answer('--json')).out).questions).toHaveLength(2)
    expect(await answer()).toMatchObject({ code: 3, err: expect.stringContaining('[Parts] Which parts?\n  1) Red') })
    expect(await answer('Red')).toMatchObject({ code: 1, err: expect.stringContaining('"Red" names no question') })
    expect(await answer('1=Red')).toMatchObject({
      code: 1,
      err: expect.stringContaining('"Which parts?" needs an answer'),
    })
    expect(await answer('1=Pink')).toMatchObject({ code: 1, err: expect.stringContaining('one of "Red", "Blue"') })
    expect((await request('GET', `/v1/runs/${id}`)).body.status).toBe('waiting_for_user')
    expect((await answer('Which colour?=2', '2=1,2')).code).toBe(0)
    const completed = await until(id, 'tool.call.completed')
    expect(JSON.parse(completed.payload?.output).answers).toEqual({
      'Which colour?': 'Blue',
      'Which parts?': 'Red,Blue',
    })
  })

  test('answer asks at the keyboard when it is given none', async () => {
    const { url, start, until } = await booted([ask(colour), done])
    const id = await start('p')
    await until(id, 'run.waiting_for_user')
    const { run, type, asked } = atTerminal(url)
    const answering = run('answer', id)
    await asked('Answer, 1-2: ')
    type('1')
    expect(await answering).toMatchObject({ code: 0, out: 'accepted\n' })
    await until(id, 'run.completed')
  })
})

describe('a run in flight, and after it', () => {
  test('steer is heard, todos are shown, continue goes on and streams', async () => {
    const todos = [
      { text: 'read\u001b', status: 'completed' },
      { text: 'write', status: 'in_progress' },
      { text: 'rest' },
    ]
    const { url } = await booted([
      call('todos', { action: 'set', todos }),
      ask(colour),
      done,
      { content: 'Shorter.' },
      done,
    ])
    const id = idIn((await away(url).run('run', 'p')).out)
    const cli = (...argv: string[]) => away(url).run(...argv)
    expect(await cli('todos', id)).toEqual({ code: 0, err: '', out: '[x] read␛\n[>] write\n[ ] rest\n' })
    expect(JSON.parse((await cli('todos', id, '--json')).out).todos).toHaveLength(3)
    expect(await cli('continue', id, 'more')).toMatchObject({
      code: 1,
      err: expect.stringContaining('run_not_completed'),
    })
    expect(await cli('steer', id, 'Use tabs')).toEqual({ code: 0, err: '', out: 'accepted\n' })
    await cli('answer', id, '1')
    expect((await cli('attach', id)).out).toContain('» Use tabs')
    expect(await cli('steer', id, 'late')).toMatchObject({ code: 1, err: expect.stringContaining('run_not_active') })
    const next = await cli('continue', id, 'Shorter, please')
    expect(next).toMatchObject({ code: 0, out: expect.stringContaining('Shorter.') })
    const last = await cli('continue', idIn(next.out), 'again', '--no-stream')
    expect(last.out).toMatch(/^run_[0-9a-f-]{36}\n$/)
    expect((await cli('attach', idIn(last.out))).code).toBe(0)
  })

  test('--unattended deny never waits', async () => {
    const { url } = await booted([ask(colour), write('a.txt'), done])
    const { code, err } = await away(url).run('run', 'p', '--approval', 'all', '--unattended', 'deny')
    expect({ code, err }).toEqual({ code: 0, err: '' })
  })
})
