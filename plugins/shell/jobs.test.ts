import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { PluginManifest } from '#contracts/plugin'
import { SANDBOX } from '#contracts/ports'
import type { ActiveRun } from '#contracts/run/active-run'
import type { SandboxPolicy } from '#contracts/sandbox'
import { type Booted, boot } from '#test/kit/boot'
import { startChatServer } from '#test/kit/chat-server'
import { fakeRun, type OpenPlugin, openPlugin, standInPorts } from '#test/kit/index'
import { RestartBench } from '#test/kit/restart-bench'
import { plugin } from './index.js'
import { createJobTable, findJob, type Job, MAX_JOBS } from './job-table.js'
import { shellIdOf } from './job-view.js'

const undo: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

/** The plugin over the real sandbox, loaded by path as the plugin host does. */
async function openShell() {
  const path = new URL('../bubblewrap/index.js', import.meta.url).href
  const { plugin: bubblewrap } = (await import(path)) as { plugin: PluginManifest }
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'jobs-')))
  const sandbox = await openPlugin(bubblewrap, { config: { cache_dir: join(root, '.cache') } })
  const shell = await openPlugin(plugin, {
    config: { captured_bytes: 1024 },
    ports: [...standInPorts(plugin), [SANDBOX, sandbox.port(SANDBOX)]],
  })
  undo.push(() => rmSync(root, { recursive: true, force: true }))
  undo.push(() => sandbox.close())
  undo.push(() => shell.close())
  return { root, shell }
}

async function call(shell: OpenPlugin, root: string, tool: string, args: object, run: Partial<ActiveRun> = {}) {
  const workspace = { root, extraDirs: [] }
  const policy: SandboxPolicy = { scope: 'workspace', network: 'deny', hiddenPaths: [], ...workspace }
  const active = fakeRun({ workspace, ...run })
  const context = { workspace, run: active, signal: active.signal, sandboxPolicy: async () => policy }
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  return (await shell.call(tool, args, context)) as any
}

const background = (command: string, more: object = {}) => ({
  command,
  run_in_background: true,
  timeout_seconds: 60,
  ...more,
})

describe('a background job', () => {
  test('starts at once, shows what it said so far, and its end', async () => {
    const { root, shell } = await openShell()
    const started = await call(
      shell,
      root,
      'bash',
      background('echo one; until [ -e go ]; do sleep 0.05; done; echo two; exit 3'),
    )
    const { shell_id } = started.output
    expect(started.output).toMatchObject({ started: true, working_dir: root, command: expect.any(String) })
    await expect
      .poll(async () => (await call(shell, root, 'job_output', { shell_id })).output.output, { timeout: 10_000 })
      .toBe('one\n')
    expect((await call(shell, root, 'job_output', { shell_id })).output).toMatchObject({
      running: true,
      exit_code: -1,
      timed_out: false,
    })
    await call(shell, root, 'bash', { command: 'touch go' })
    expect((await call(shell, root, 'job_output', { shell_id, wait: true })).output).toEqual({
      shell_id,
      running: false,
      exit_code: 3,
      timed_out: false,
      output: 'one\ntwo\n',
      started_at: expect.stringMatching(/^\d{4}-.*Z$/),
    })
  })

  test('is killed with all it started, and says so once', async () => {
    const { root, shell } = await openShell()
    const { shell_id } = (
      await call(shell, root, 'bash', background('(setsid sleep 300 &) ; while :; do date >> beat; sleep 0.02; done'))
    ).output
    await expect
      .poll(async () => (await call(shell, root, 'bash', { command: 'cat beat' })).output.exit_code, {
        timeout: 10_000,
      })
      .toBe(0)
    expect((await call(shell, root, 'job_kill', { shell_id })).output).toEqual({ shell_id, killed: true })
    expect((await call(shell, root, 'job_kill', { shell_id })).output).toEqual({ shell_id, killed: false })
    const lines = async () =>
      (await call(shell, root, 'bash', { command: 'wc -l < beat; sleep 0.2; wc -l < beat' })).output.output.split('\n')
    const [before, after] = await lines()
    expect(after).toBe(before)
    expect((await call(shell, root, 'job_output', { shell_id })).output).toMatchObject({
      running: false,
      exit_code: -1,
    })
  })

  test('times out, keeps both ends of a flood, and shares /tmp with its run', async () => {
    const { root, shell } = await openShell()
    const flood = 'for i in $(seq 3000); do echo line $i; done; echo x > /tmp/shared; sleep 60'
    const { shell_id } = (await call(shell, root, 'bash', background(flood, { timeout_seconds: 2 }))).output
    const { output } = await call(shell, root, 'job_output', { shell_id, wait: true })
    expect(output).toMatchObject({ timed_out: true, truncated: true, exit_code: -1 })
    expect(output.output).toMatch(/^line 1\n[\s\S]*left out[\s\S]*line 3000\n$/)
    expect((await call(shell, root, 'bash', { command: 'cat /tmp/shared' })).output.output).toBe('x\n')
  })

  test('ends when its run is cancelled, and when the plugin closes', async () => {
    const { root, shell } = await openShell()
    const cancel = new AbortController()
    const first = (await call(shell, root, 'bash', background('sleep 60'), { signal: cancel.signal })).output.shell_id
    const second = (await call(shell, root, 'bash', background('sleep 60'))).output.shell_id
    cancel.abort()
    expect((await call(shell, root, 'job_output', { shell_id: first, wait: true })).output.running).toBe(false)
    const waiting = call(shell, root, 'job_output', { shell_id: second, wait: true })
    await shell.close()
    undo.pop()
    expect((await waiting).output.running).toBe(false)
  })

  test('of another conversation or tenant is unknown', async () => {
    const { root, shell } = await openShell()
    const { shell_id } = (await call(shell, root, 'bash', background('sleep 60'))).output
    for (const foreign of [{ tenantId: 'other' }, { conversationId: 'other' }])
      for (const tool of ['job_output', 'job_kill'])
        expect(await call(shell, root, tool, { shell_id }, foreign)).toMatchObject({ error: { code: 'not_found' } })
    expect((await call(shell, root, 'job_output', { shell_id })).output.running).toBe(true)
  })

  test('keeps its run’s /tmp until it has ended, not longer', async () => {
    const { root, shell } = await openShell()
    const script = 'until [ -e go ]; do sleep 0.05; done; cat /tmp/kept'
    await call(shell, root, 'bash', { command: 'echo here > /tmp/kept' })
    const { shell_id } = (await call(shell, root, 'bash', background(script))).output
    await shell.hooks.runSettled.promise({ id: 'run_fake' } as never)
    await call(shell, root, 'bash', { command: 'touch go' }, { id: 'run_other' })
    expect((await call(shell, root, 'job_output', { shell_id, wait: true })).output.output).toBe('here\n')
    expect((await call(shell, root, 'bash', { command: 'cat /tmp/kept' })).output.exit_code).toBe(1)
  })
})

test('a tenant keeps 64 jobs: the oldest that ended makes room, and running ones do not', async () => {
  const { root, shell } = await openShell()
  const start = async (command: string) => (await call(shell, root, 'bash', background(command))).output.shell_id
  const ids: string[] = []
  for (let index = 0; index < MAX_JOBS + 1; index++) {
    ids.push(await start(index < 2 ? 'true' : 'sleep 60'))
    if (index < 2) await call(shell, root, 'job_output', { shell_id: ids[index], wait: true })
  }
  const known = await Promise.all(
    ids.map(async shell_id => 'output' in (await call(shell, root, 'job_output', { shell_id }))),
  )
  expect([known.filter(is => !is).length, known[0]]).toEqual([1, false])
  expect((await call(shell, root, 'bash', background('sleep 60'))).output.started).toBe(true)
  expect(await call(shell, root, 'bash', background('sleep 60'))).toMatchObject({
    error: expect.stringContaining('job_kill'),
  })
  expect((await call(shell, root, 'bash', background('true'), { tenantId: 'other' })).output.started).toBe(true)
}, 60_000)

test('a job is forgotten 30 minutes after its end', () => {
  const table = createJobTable()
  const job = (endedAtMs: number) => ({ id: 'a', tenantId: 't', endedAtMs }) as unknown as Job
  table.jobs.set('a', job(performance.now() - 29 * 60_000))
  expect(findJob(table, 'a', { tenantId: 't' })).toBeDefined()
  table.jobs.set('a', job(performance.now() - 31 * 60_000))
  expect([findJob(table, 'a', { tenantId: 't' }), table.jobs.size]).toEqual([undefined, 0])
})

test.each(['jm1:job_a', 'jm12:job_a', 'job_a'])('%s names job_a', id => expect(shellIdOf(id)).toBe('job_a'))

describe('over HTTP', () => {
  async function bootJob(
    command: string,
  ): Promise<{ live: Booted; runId: string; shellId: string; release: () => void }> {
    let release = () => {}
    const held = new Promise<void>(resolve => (release = resolve))
    const server = await startChatServer({
      respond: async (_, index) => {
        if (index > 0) await held
        return index === 0 ? { toolCalls: [{ name: 'bash', arguments: background(command) }] } : { text: 'done' }
      },
    })
    const live = await boot({ modelUrl: server.baseUrl })
    undo.push(() => server.close())
    undo.push(() => live.stop())
    const runId = await live.start('go')
    const { payload } = await live.until(runId, 'tool.call.completed')
    return { live, runId, shellId: JSON.parse(payload?.output).shell_id, release }
  }

  test('a job outlives its run’s normal end; its output is shown and it is killed', async () => {
    const { live, runId, shellId, release } = await bootJob('echo hello; sleep 60')
    release()
    await live.until(runId, 'run.completed')
    const output = async () => (await live.request('GET', `/v1/jobs/jm1:${shellId}/output`)).body
    await expect.poll(async () => (await output()).output, { timeout: 10_000 }).toBe('hello\n')
    expect(await output()).toMatchObject({ shell_id: shellId, running: true, timed_out: false })
    const tasks = async () => (await live.request('GET', '/v1/tasks')).body.tasks
    const task = {
      id: `jm1:${shellId}`,
      type: 'bash_job',
      status: 'running',
      label: 'echo hello; sleep 60',
      started_at: (await output()).started_at,
      age_seconds: expect.any(Number),
      actions: ['cancel'],
      conversation_id: runId,
      run_id: runId,
    }
    expect(await tasks()).toEqual([task])
    const killed = await live.request('POST', `/v1/jobs/${shellId}/kill`)
    expect([killed.status, killed.body]).toEqual([200, { id: `jm1:${shellId}`, killed: true }])
    expect(await output()).toMatchObject({ running: false })
    expect(await tasks()).toEqual([{ ...task, status: 'exited', actions: [] }])
  })

  test('a cancelled run takes its jobs along', async () => {
    const { live, runId, shellId } = await bootJob('sleep 60')
    await live.request('POST', `/v1/runs/${runId}/cancel`)
    await live.until(runId, 'run.cancelled')
    await expect
      .poll(async () => (await live.request('GET', `/v1/jobs/jm1:${shellId}/output`)).body.running, { timeout: 10_000 })
      .toBe(false)
  })

  test('an unknown job is 404', async () => {
    const live = await boot()
    undo.push(() => live.stop())
    for (const [method, path] of [
      ['GET', 'output'],
      ['POST', 'kill'],
    ] as const)
      expect(await live.request(method, `/v1/jobs/jm1:job_none/${path}`)).toMatchObject({
        status: 404,
        body: { error: { code: 'not_found' } },
      })
  })
})

test.each(['kill', 'terminate'] as const)('no job outlives the daemon: %s', async how => {
  const bench = await RestartBench.open()
  undo.push(() => bench.close())
  const turns = join(bench.dir, 'turns.json')
  const mark = `9${process.pid}${how.length}7`
  const bash = { name: 'bash', arguments: background(`(setsid sleep ${mark} &); exec sleep ${mark}`) }
  writeFileSync(turns, JSON.stringify([{ tool_calls: [bash] }, { content: 'done' }]))
  const client = await bench.start({ provider: 'fake', fake_turns: turns })
  await client.run('go')
  await expect.poll(() => processesWith(mark).length, { timeout: 10_000 }).toBeGreaterThan(1)
  await bench.daemon[how]()
  await expect.poll(() => processesWith(mark), { timeout: 10_000 }).toEqual([])
})

const processesWith = (mark: string): readonly string[] =>
  readdirSync('/proc').filter(name => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(mark)
    } catch {
      return false
    }
  })

test('another tenant’s job is 404 over HTTP, and without a sandbox the routes answer 501', async () => {
  const { root, shell } = await openShell()
  const { shell_id } = (await call(shell, root, 'bash', background('sleep 60'), { tenantId: 'somebody' })).output
  for (const [method, path] of [
    ['GET', 'output'],
    ['POST', 'kill'],
  ] as const)
    expect((await shell.app.inject({ method, url: `/v1/jobs/${shell_id}/${path}` })).statusCode).toBe(404)
  const bare = await openPlugin(plugin, { ports: standInPorts(plugin) })
  expect([(await bare.app.inject('/v1/jobs/x/output')).statusCode, [...bare.tools.keys()]]).toEqual([501, ['bash']])
  await bare.close()
})
