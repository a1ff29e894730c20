import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { Failure } from '#contracts/errors'
import type { ToldEvent } from '#contracts/event/events'
import type { Notice } from '#contracts/notices'
import { createMemoryRecords } from '#kernel/storage/memory-records'
import { boot } from '#test/kit/boot'
import { type ChatServer, startChatServer } from '#test/kit/chat-server'
import { bootOnCopy } from '#test/kit/reload-bench'
import { type DaemonClient, RestartBench } from '#test/kit/restart-bench'
import { dataOf, framesIn, idOf, readStream } from '#test/kit/stream-reader'
import { Capture } from './capture.js'
import { type JobEndsDeps, tellEnds } from './job-ends.js'
import { createJobTable, type Job, newJob } from './job-table.js'
import { JobTraces } from './job-traces.js'

const undo: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

describe('ends', () => {
  const NAME = { tenantId: 't', conversationId: 'c', runId: 'run_1', cwd: '/w' }
  const ended = (command: string, outcome: Job['outcome'], said = ''): Job => {
    const capture = new Capture(4096)
    capture.add(Buffer.from(said))
    return {
      ...newJob({ ...NAME, command }),
      capture,
      stop: new AbortController(),
      ended: Promise.resolve(),
      outcome: outcome!,
    }
  }
  /** Everything that is told, and a store that says no for as long as `isDown`. */
  function bench() {
    const told: ToldEvent[] = []
    const noticed: Notice[] = []
    const state = { isDown: false, refusals: 0 }
    const traces = new JobTraces(createMemoryRecords())
    const deps: JobEndsDeps = {
      traces,
      log: { debug() {}, info() {}, warn: () => void state.refusals++, error() {} },
      notices: { post: async (_tenant, _conversation, notice) => void noticed.push(notice) },
      events: {
        async tell(_tenantId, _runId, event) {
          if (state.isDown) throw new Failure('store_unavailable', 'the disk is full')
          told.push(event)
          return true
        },
      },
    }
    const stop = new AbortController()
    undo.push(() => stop.abort())
    return { told, noticed, state, traces, deps, stop }
  }
  const left = async (traces: JobTraces) => {
    const found: string[] = []
    for await (const { trace } of traces.foreign('')) found.push(trace.shell_id)
    return found
  }

  test.each<[string, Job['outcome'], object, RegExp]>([
    ['an exit', { kind: 'exited', code: 3 }, { exit_code: 3, timed_out: false }, /ended with exit code 3; job_output/],
    ['a time-out', { kind: 'timed_out' }, { exit_code: -1, timed_out: true }, /killed when its time was over/],
    ['a kill', { kind: 'aborted' }, { exit_code: -1, timed_out: false }, /ended before it was done/],
    ['a refusal', { kind: 'refused', reason: 'no' }, { exit_code: -1, timed_out: false }, /could not be run/],
  ])('%s is told with what was said, and to the next run without it', async (_, outcome, facts, sentence) => {
    const { told, noticed, traces, deps, stop } = bench()
    const table = createJobTable()
    const work = tellEnds(table, deps, stop.signal)
    const job = ended(`say "${'x'.repeat(3000)}"`, outcome, 'SECRET')
    await traces.leave(job, table.id)
    table.untold.push(job)
    table.wake()
    await expect.poll(() => told).toHaveLength(1)
    expect(told[0]).toEqual({
      type: 'job.completed',
      mark: job.mark,
      payload: {
        ...facts,
        shell_id: job.id,
        command: job.command.slice(0, 2000),
        output: 'SECRET',
        truncated: false,
        working_dir: '/w',
      },
    })
    expect(noticed[0]?.id).toBe(job.id)
    expect(noticed[0]?.text).toMatch(sentence)
    expect(noticed[0]?.text).not.toContain('SECRET')
    expect(noticed[0]?.text.length).toBeLessThan(500)
    stop.abort()
    await work
    expect([table.untold, await left(traces)]).toEqual([[], []])
  })

  test('of a long output the last 2,000 characters are told', async () => {
    const { told, deps, stop } = bench()
    const table = createJobTable()
    table.untold.push(ended('a', { kind: 'exited', code: 0 }, `${'a'.repeat(3000)}END`))
    const work = tellEnds(table, deps, stop.signal)
    await expect.poll(() => told).toHaveLength(1)
    expect(told[0]?.payload).toMatchObject({ output: `${'a'.repeat(1997)}END`, truncated: true })
    stop.abort()
    await work
  })

  test('while the store cannot write, ends wait; the next generation tells what is left', async () => {
    const { told, state, traces, deps, stop } = bench()
    const table = createJobTable()
    const jobs = ['a', 'b'].map(command => ended(command, { kind: 'exited', code: 0 }))
    for (const job of jobs) await traces.leave(job, table.id)
    state.isDown = true
    table.untold.push(...jobs)
    const first = tellEnds(table, deps, stop.signal)
    await expect.poll(() => state.refusals).toBeGreaterThan(0)
    stop.abort()
    await first
    expect([table.untold, told, (await left(traces)).length]).toEqual([jobs, [], 2])
    state.isDown = false
    const next = new AbortController()
    const second = tellEnds(table, deps, next.signal)
    await expect.poll(() => told.map(({ mark }) => mark)).toEqual(jobs.map(({ mark }) => mark))
    next.abort()
    await second
    expect(await left(traces)).toEqual([])
  })

  test('jobs of a table that is gone are told as lost, each under the mark it had', async () => {
    const { told, noticed, traces, deps, stop } = bench()
    const gone = Array.from({ length: 130 }, (_, index) => newJob({ ...NAME, command: `c${index}` }))
    const table = createJobTable()
    const alive = newJob({ ...NAME, command: 'alive' })
    for (const job of gone) await traces.leave(job, 'another table')
    await traces.leave(alive, table.id)
    const work = tellEnds(table, deps, stop.signal)
    await expect.poll(() => told.length).toBe(130)
    expect(told.map(({ mark }) => mark).toSorted()).toEqual(gone.map(({ mark }) => mark).toSorted())
    expect(told[0]?.payload).toMatchObject({ exit_code: -1, timed_out: false, output: '', lost: true })
    expect(noticed[0]?.text).toMatch(/was lost when the daemon stopped/)
    await expect.poll(() => left(traces)).toEqual([alive.id])
    stop.abort()
    await work
  })
})

/** The command starts in the first turn of the first run; every other turn says done. */
const serverWith = (command: string): Promise<ChatServer> =>
  startChatServer({
    respond: (_, index) =>
      index === 0
        ? { toolCalls: [{ name: 'bash', arguments: { command, run_in_background: true, timeout_seconds: 60 } }] }
        : { text: 'done' },
  })
const noticesIn = ({ calls }: ChatServer) =>
  calls.map(({ body }) => {
    const messages = body?.messages as { content?: string }[]
    return /<notices>\n([\s\S]*)\n<\/notices>/.exec(messages.at(-1)?.content ?? '')?.[1]
  })
/** The conversation up to the first end of a job. */
async function endIn(url: string, conversation = 'talk') {
  const { bytes } = await readStream(`${url}/v1/conversations/${conversation}/events`, {
    isEnough: all => all.includes('\nevent: job.completed\n') && all.toString('latin1').endsWith('\n\n'),
  })
  const frames = framesIn(bytes)
  const end = frames.find(frame => frame.includes('\nevent: job.completed\n')) ?? ''
  return { ids: frames.map(idOf), id: idOf(end), event: JSON.parse(dataOf(end)) }
}
const TALK = { prompt: 'go', conversation_id: 'talk' }
const shellIdOf = (events: Awaited<ReturnType<DaemonClient['events']>>): string =>
  JSON.parse(events.find(({ type }) => type === 'tool.call.completed')?.payload?.output).shell_id

describe('over HTTP', () => {
  test.each([
    ['after its run', 'until [ -e go ]; do sleep 0.05; done; echo bye; exit 3'],
    ['during its run', 'echo bye; exit 3'],
  ])('a job that ends %s is told in the conversation, in no run, and once to the next run', async (when, command) => {
    const model = await serverWith(command)
    undo.push(() => model.close())
    const live = await boot({ modelUrl: model.baseUrl })
    undo.push(() => live.stop())
    const events = await live.run(TALK)
    const [{ run_id: runId }, shellId] = [events[0]!, shellIdOf(events)]
    if (when === 'after its run') writeFileSync(join(live.workspace, 'go'), '')
    const { id, event, ids } = await endIn(live.url)
    expect(id).toMatch(new RegExp(`^${runId}:conversation:[0-9a-f-]{36}$`))
    expect(event).toEqual({
      id,
      run_id: runId,
      type: 'job.completed',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      payload: {
        shell_id: shellId,
        command,
        exit_code: 3,
        timed_out: false,
        output: 'bye\n',
        truncated: false,
        working_dir: live.workspace,
        schema_version: 1,
        conversation_id: 'talk',
        step: expect.any(Number),
      },
    })
    if (when === 'after its run') expect(ids.at(-1)).toBe(id)
    expect((await live.events(runId)).map(({ type }) => type)).not.toContain('job.completed')
    await expect
      .poll(async () => (await live.request('GET', `/v1/jobs/jm1:${shellId}/output`)).body.running)
      .toBe(false)
    await live.run({ prompt: 'elsewhere', conversation_id: 'other' })
    await live.run(TALK)
    await live.run(TALK)
    expect(noticesIn(model)).toEqual([
      undefined,
      undefined,
      undefined,
      expect.stringMatching(new RegExp(`^The background job ${shellId}, started at .*, ended with exit code 3; .*$`)),
      undefined,
    ])
  })

  test('one that is killed over HTTP is told too', async () => {
    const model = await serverWith('echo hi; sleep 60')
    undo.push(() => model.close())
    const live = await boot({ modelUrl: model.baseUrl })
    undo.push(() => live.stop())
    const shellId = shellIdOf(await live.run(TALK))
    await live.request('POST', `/v1/jobs/jm1:${shellId}/kill`)
    expect((await endIn(live.url)).event.payload).toMatchObject({ shell_id: shellId, exit_code: -1, timed_out: false })
    await live.run(TALK)
    expect(noticesIn(model).at(-1)).toContain('was ended before it was done')
  })

  test('a job goes on over reloads of the plugin and is told once, by the newest generation', async () => {
    const model = await serverWith('until [ -e go ]; do sleep 0.05; done; echo bye')
    undo.push(() => model.close())
    const live = await bootOnCopy({ modelUrl: model.baseUrl })
    undo.push(() => live.stop())
    const shellId = shellIdOf(await live.run(TALK))
    for (const word of ['one', 'two']) {
      await live.edit('shell', 'job-end.js', 'The background job', `${word}: The background job`)
      expect((await live.reload()).status).toBe(200)
    }
    expect((await live.request('GET', `/v1/jobs/jm1:${shellId}/output`)).body.running).toBe(true)
    writeFileSync(join(live.workspace, 'go'), '')
    expect((await endIn(live.url)).event.payload).toMatchObject({ shell_id: shellId, exit_code: 0, output: 'bye\n' })
    await live.run(TALK)
    expect(noticesIn(model).at(-1)).toMatch(/^one: two: The background job .* exit code 0/)
    const { bytes } = await readStream(`${live.url}/v1/conversations/talk/events`, {
      isEnough: all => (all.toString('latin1').match(/event: run\.completed/g)?.length ?? 0) >= 2,
    })
    expect(bytes.toString().match(/event: job\.completed/g)).toHaveLength(1)
  })
})

describe('a job that its daemon takes along', () => {
  test.each(['kill', 'terminate'] as const)('is told as lost by the next one: %s', async how => {
    let isFirst = true
    const bench = await RestartBench.open({
      respond: () => {
        const turn = isFirst
          ? {
              toolCalls: [
                { name: 'bash', arguments: { command: 'sleep 600', run_in_background: true, timeout_seconds: 900 } },
              ],
            }
          : { text: 'done' }
        isFirst = false
        return turn
      },
    })
    undo.push(() => bench.close())
    const before = await bench.start()
    const events = await before.run(TALK)
    const [runId, shellId] = [events[0]!.run_id, shellIdOf(events)]
    await bench.daemon[how]()
    const after = await bench.start()
    const { id, event } = await endIn(bench.daemon.url)
    expect(id).toMatch(new RegExp(`^${runId}:conversation:`))
    expect(event.payload).toMatchObject({
      shell_id: shellId,
      command: 'sleep 600',
      exit_code: -1,
      output: '',
      lost: true,
    })
    const gone = await after.request('GET', `/v1/jobs/jm1:${shellId}/output`)
    expect([gone.status, gone.body.error.code]).toEqual([404, 'not_found'])
    await after.run(TALK)
    expect(noticesIn(bench.model).at(-1)).toMatch(/^The background job job_\w+, .* was lost when the daemon stopped/)
    // Once is enough: the daemon after that says nothing more of it.
    const third = await bench.restart()
    await third.run(TALK)
    const { bytes } = await readStream(`${bench.daemon.url}/v1/conversations/talk/events`, {
      isEnough: all => (all.toString('latin1').match(/event: run\.completed/g)?.length ?? 0) >= 3,
    })
    expect(bytes.toString().match(/event: job\.completed/g)).toHaveLength(1)
    expect(noticesIn(bench.model).at(-1)).toBeUndefined()
  })
})
