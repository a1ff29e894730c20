import { existsSync, mkdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createClient } from '#test/kit/boot'
import { type DaemonProcess, spawnDaemon } from '#test/kit/daemon-process'
import { benchForEach } from './plan-bench.js'

const bench = benchForEach()

describe('across a restart', () => {
  let dir = ''
  let daemon: DaemonProcess | undefined
  const open = async (settings: Readonly<Record<string, unknown>> = {}) => {
    await daemon?.kill()
    daemon = await spawnDaemon({
      home: dir,
      cwd: dir,
      environment: { OPENAI_BASE_URL: bench.modelUrl, OPENAI_API_KEY: 'test-key' },
      settings: {
        addr: '127.0.0.1:0',
        workspace: join(dir, 'workspace'),
        watch_enabled: false,
        auth_disabled: true,
        log_level: 'error',
        run_db: join(dir, 'runs.db'),
        ...settings,
      },
    })
    return createClient(daemon.url)
  }
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'runwright-plan-'))
    mkdirSync(join(dir, 'workspace'))
  })
  afterEach(async () => {
    await daemon?.kill()
    daemon = undefined
    await rm(dir, { recursive: true, force: true })
  })

  test('the plan waits on, unchanged and announced once, and can be approved', async () => {
    bench.calling([])
    const before = await open()
    const id = await before.start({ prompt: 'p', plan_mode: true })
    await before.until(id, 'tool.approval_required')
    const after = await open()
    expect((await after.request('GET', `/v1/runs/${id}`)).body.status).toBe('waiting_for_approval')
    await expect.poll(async () => (await after.request('POST', `/v1/runs/${id}/approve`)).status).toBe(200)
    const types = (await after.events(id)).map(({ type }) => type)
    for (const type of ['assistant.message', 'run.step.completed', 'tool.approval_required', 'tool.approval_granted'])
      expect([type, types.filter(each => each === type).length]).toEqual([type, 1])
    expect(types.at(-1)).toBe('run.completed')
  })

  test('a run that still plans is held as before', async () => {
    bench.respond = () => ({ text: 'thinking', hang: true })
    const before = await open()
    const id = await before.start({ prompt: 'p', plan_mode: true })
    await before.until(id, 'assistant.message.delta')
    bench.calling([['bash', { command: 'echo x >made.txt' }]])
    const after = await open()
    await after.until(id, 'tool.approval_required')
    expect(existsSync(join(dir, 'workspace/made.txt'))).toBe(false)
  })

  test('without the plugin, the run does not go on', async () => {
    bench.respond = () => ({ text: 'thinking', hang: true })
    const before = await open()
    const id = await before.start({ prompt: 'p', plan_mode: true })
    await before.until(id, 'assistant.message.delta')
    bench.calling([['bash', { command: 'echo x >made.txt' }]])
    const plugins = ['runs', 'openai-compatible', 'sqlite', 'bubblewrap', 'shell', 'approvals', 'prompts']
    const after = await open({ enabled_plugins: plugins })
    const end = (await after.events(id)).at(-1)
    expect([end?.type, end?.payload?.error]).toEqual(['run.failed', expect.stringContaining('plan_mode')])
    expect(existsSync(join(dir, 'workspace/made.txt'))).toBe(false)
  })
})
