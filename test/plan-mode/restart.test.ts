import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RestartBench } from '#test/kit/restart-bench'
import { benchForEach } from './plan-bench.js'

const bench = benchForEach()

describe('across a restart', () => {
  let daemons: RestartBench
  beforeEach(async () => {
    daemons = await RestartBench.open({ modelUrl: bench.modelUrl })
  })
  afterEach(() => daemons.close())

  test('the plan waits on, unchanged and announced once, and can be approved', async () => {
    bench.calling([])
    const before = await daemons.start()
    const id = await before.start({ prompt: 'p', plan_mode: true })
    await before.until(id, 'tool.approval_required')
    const after = await daemons.restart()
    expect((await after.request('GET', `/v1/runs/${id}`)).body.status).toBe('waiting_for_approval')
    await expect.poll(async () => (await after.request('POST', `/v1/runs/${id}/approve`)).status).toBe(200)
    const types = (await after.events(id)).map(({ type }) => type)
    for (const type of ['assistant.message', 'run.step.completed', 'tool.approval_required', 'tool.approval_granted'])
      expect([type, types.filter(each => each === type).length]).toEqual([type, 1])
    expect(types.at(-1)).toBe('run.completed')
  })

  test('a run that still plans is held as before', async () => {
    bench.respond = () => ({ text: 'thinking', hang: true })
    const before = await daemons.start()
    const id = await before.start({ prompt: 'p', plan_mode: true })
    await before.until(id, 'assistant.message.delta')
    bench.calling([['bash', { command: 'echo x >made.txt' }]])
    const after = await daemons.restart()
    await after.until(id, 'tool.approval_required')
    expect(existsSync(join(daemons.workspace, 'made.txt'))).toBe(false)
  })

  test('without the plugin, the run does not go on', async () => {
    bench.respond = () => ({ text: 'thinking', hang: true })
    const before = await daemons.start()
    const id = await before.start({ prompt: 'p', plan_mode: true })
    await before.until(id, 'assistant.message.delta')
    bench.calling([['bash', { command: 'echo x >made.txt' }]])
    const plugins = ['runs', 'openai-compatible', 'sqlite', 'bubblewrap', 'shell', 'approvals', 'prompts']
    const after = await daemons.restart({ enabled_plugins: plugins })
    const end = (await after.events(id)).at(-1)
    expect([end?.type, end?.payload?.error]).toEqual(['run.failed', expect.stringContaining('plan_mode')])
    expect(existsSync(join(daemons.workspace, 'made.txt'))).toBe(false)
  })
})
