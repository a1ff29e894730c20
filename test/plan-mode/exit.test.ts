import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { benchForEach, PLAN, resultsOf } from './plan-bench.js'

const bench = benchForEach()

describe('leaving plan mode', () => {
  test('the plan waits for approval, and approved it is the output', async () => {
    const { request, events } = await bench.start()
    bench.calling([])
    const { id, required } = await bench.planUntilExit()
    expect(required.payload).toMatchObject({ tool: 'plan_exit', call_id: 'plan_exit_1' })
    expect(JSON.parse(required.payload?.arguments)).toEqual({ plan: PLAN, plan_file: '.runwright/plan.md' })
    expect((await request('GET', `/v1/runs/${id}`)).body.status).toBe('waiting_for_approval')
    expect(await request('POST', `/v1/runs/${id}/approve`)).toMatchObject({ status: 200, body: { status: 'approved' } })
    const seen = await events(id)
    expect(seen.slice(-3).map(({ type }) => type)).toEqual([
      'tool.approval_required',
      'tool.approval_granted',
      'run.completed',
    ])
    expect(seen.at(-1)?.payload?.output).toBe(PLAN)
  })

  test('denied, the remarks go to the model, which plans again under a new id', async () => {
    const { request, until, events } = await bench.start()
    bench.respond = messages => ({
      text: messages.some(({ content }) => content.includes('too bold')) ? 'Softly.' : PLAN,
    })
    const { id } = await bench.planUntilExit()
    await request('POST', `/v1/runs/${id}/deny`, { message: 'too bold' })
    await until(id, 'tool.approval_denied')
    await expect
      .poll(async () => (await request('POST', `/v1/runs/${id}/approve`, { call_id: 'plan_exit_2' })).status)
      .toBe(200)
    expect((await events(id)).at(-1)).toMatchObject({ type: 'run.completed', payload: { output: 'Softly.' } })
  })

  test('an approach that is approved is carried out, and now changes are allowed', async () => {
    const { request, events, workspace } = await bench.start()
    bench.respond = messages =>
      resultsOf(messages).length > 0
        ? { text: 'carried out' }
        : messages.some(({ content }) => content.includes('with this approach: Slow'))
          ? { toolCalls: [{ id: 'w', name: 'bash', arguments: { command: 'echo made >made.txt' } }] }
          : { text: '## Approaches\n- Fast — quick\n- Slow — careful' }
    const { id } = await bench.planUntilExit()
    await request('POST', `/v1/runs/${id}/approve`, { option: 'b' })
    expect((await events(id)).at(-1)?.payload?.output).toBe('carried out')
    expect(readFileSync(join(workspace, 'made.txt'), 'utf8')).toBe('made\n')
  })

  test('a plan that was written to the plan file is the plan', async () => {
    const { request, events, workspace } = await bench.start()
    mkdirSync(join(workspace, '.runwright'), { recursive: true })
    writeFileSync(join(workspace, '.runwright/plan.md'), 'of yesterday')
    bench.calling([['write', { path: '.runwright/plan.md', content: 'Written plan.' }]], 'See the file.')
    const { id, required } = await bench.planUntilExit()
    expect(JSON.parse(required.payload?.arguments).plan).toBe('Written plan.')
    await request('POST', `/v1/runs/${id}/approve`)
    expect((await events(id)).at(-1)?.payload?.output).toBe('Written plan.')
  })

  test('a plan file of an earlier run is not', async () => {
    const { workspace } = await bench.start()
    mkdirSync(join(workspace, '.runwright'), { recursive: true })
    writeFileSync(join(workspace, '.runwright/plan.md'), 'of yesterday')
    bench.calling([])
    expect(JSON.parse((await bench.planUntilExit()).required.payload?.arguments).plan).toBe(PLAN)
  })

  test('what another run writes there meanwhile is not', async () => {
    const { workspace } = await bench.start()
    bench.respond = messages => {
      if (resultsOf(messages).length === 0) return { toolCalls: [{ id: 'l', name: 'ls', arguments: {} }] }
      mkdirSync(join(workspace, '.runwright'), { recursive: true })
      writeFileSync(join(workspace, '.runwright/plan.md'), 'of somebody else')
      return { text: PLAN }
    }
    expect(JSON.parse((await bench.planUntilExit()).required.payload?.arguments).plan).toBe(PLAN)
  })

  test('sent back, the plan is what is answered then, and not what the file held before', async () => {
    const { request, until, events } = await bench.start()
    bench.respond = messages => {
      const said = messages.map(({ content }) => content).join()
      if (said.includes('and again')) return { text: 'Third.' }
      if (said.includes('too long')) {
        if (resultsOf(messages).length > 1) return { text: 'Second.' }
        return { toolCalls: [{ id: 'b', name: 'bash', arguments: { command: 'true' } }] }
      }
      if (resultsOf(messages).length > 0) return { text: 'See the file.' }
      const write = { path: '.runwright/plan.md', content: 'First.' }
      return { toolCalls: [{ id: 'w', name: 'write', arguments: write }] }
    }
    const { id, required } = await bench.planUntilExit()
    await request('POST', `/v1/runs/${id}/deny`, { message: 'too long' })
    await until(id, 'tool.approval_denied')
    await expect
      .poll(
        async () =>
          (await request('POST', `/v1/runs/${id}/deny`, { call_id: 'plan_exit_4', message: 'and again' })).status,
      )
      .toBe(200)
    await expect
      .poll(async () => (await request('POST', `/v1/runs/${id}/approve`, { call_id: 'plan_exit_5' })).status)
      .toBe(200)
    const shown = (await events(id)).filter(({ type }) => type === 'tool.approval_required')
    expect(shown[0]?.id).toBe(required.id)
    expect(shown.map(({ payload }) => JSON.parse(payload?.arguments).plan)).toEqual(['First.', 'Second.', 'Third.'])
  })

  test('with nobody to ask, the plan is the output and nothing was changed', async () => {
    const { run, workspace } = await bench.start()
    bench.calling([['bash', { command: 'echo x >made.txt' }]])
    const events = await run({ prompt: 'p', plan_mode: true, permissions: { unattended: 'deny' } })
    expect(events.at(-1)).toMatchObject({ type: 'run.completed', payload: { output: PLAN } })
    expect(existsSync(join(workspace, 'made.txt'))).toBe(false)
  })

  test('with nobody answering in time, the run fails and says so', async () => {
    const { run } = await bench.start({ settings: { ask_user_timeout_seconds: 0.2 } })
    bench.calling([])
    expect((await run({ prompt: 'p', plan_mode: true })).at(-1)).toMatchObject({
      type: 'run.failed',
      payload: { reason: 'approval_timeout' },
    })
  })

  test('each turn of a planning run ends with the guidance, and no turn after it', async () => {
    const { request, events } = await bench.start()
    const last: boolean[] = []
    bench.respond = messages => {
      last.push(messages.some(({ role, content }) => role === 'system' && content.startsWith('Plan mode is on')))
      const carriesOut = messages.some(({ content }) => content.includes('with this approach'))
      return { text: carriesOut ? 'done' : '## Approaches\n- One' }
    }
    const { id } = await bench.planUntilExit()
    await request('POST', `/v1/runs/${id}/approve`, { option: 'a' })
    await events(id)
    expect(last).toEqual([true, false])
  })
})

describe('admission', () => {
  test.each([
    [{ plan_mode: 'yes' }, 'plan_mode'],
    [{ plan_mode: true, plan_file: 7 }, 'plan_file'],
    [{ plan_mode: true, plan_file: '.git/hooks/pre-commit' }, 'plan_file'],
    [{ plan_mode: true, plan_file: '.runwright/state.db' }, 'plan_file'],
  ])('%j is refused with 400', async (draft, field) => {
    const { request } = await bench.start()
    const reply = await request('POST', '/v1/runs', { prompt: 'p', ...draft })
    expect([reply.status, reply.body.error.code]).toEqual([400, 'invalid_request'])
    expect(reply.body.error.message).toContain(field)
  })
})
