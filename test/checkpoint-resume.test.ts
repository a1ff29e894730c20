import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Booted, boot } from './kit/boot.js'
import { RestartBench } from './kit/restart-bench.js'
import { scriptedPrompt, writeScriptedPlugin } from './kit/scripted-plugin.js'

let daemon: Booted | undefined
let bench: RestartBench | undefined
let dir = ''
afterEach(async () => {
  await daemon?.stop()
  await bench?.close()
  daemon = bench = undefined
  await rm(dir, { recursive: true, force: true })
})

test('a question that is resumed through its checkpoint is answered with the texts of the payload, once', async () => {
  dir = await mkdtemp(join(tmpdir(), 'runwright-resume-'))
  await writeScriptedPlugin(join(dir, 'plugins'))
  daemon = await boot({ dir, isDurable: true, settings: { plugin_dirs: [join(dir, 'plugins')] } })
  const options = ['red', 'blue'].map(label => ({ label, description: label }))
  const questions = [{ question: 'Which colour?', header: 'Colour', options, multiSelect: false }]
  const id = await daemon.start(scriptedPrompt([{ id: 'q1', name: 'AskUserQuestion', arguments: { questions } }]))
  await daemon.until(id, 'run.waiting_for_user')
  const { body: checkpoint } = await daemon.request('GET', `/v1/runs/${id}/checkpoint`)
  expect(checkpoint).toMatchObject({ kind: 'user_input', status: 'pending', run_id: id, call_id: 'q1' })
  const replies = await Promise.all([
    daemon.request('POST', `/v1/checkpoints/${checkpoint.id}/resume`, { payload: { 'Which colour?': 'red', odd: 1 } }),
    daemon.request('POST', `/v1/runs/${id}/input`, { answers: { 'Which colour?': 'blue' } }),
  ])
  const winners = replies.filter(({ status }) => status < 300)
  expect(winners).toHaveLength(1)
  const output = (await daemon.events(id)).at(-1)?.payload?.output
  expect(output).toContain(winners[0] === replies[0] ? ':\\"red\\"' : ':\\"blue\\"')
  expect((await daemon.request('GET', `/v1/checkpoints/${checkpoint.id}`)).body.status).toBe('resumed')
  expect((await daemon.request('POST', `/v1/checkpoints/${checkpoint.id}/resume`, { payload: {} })).status).toBe(409)
})

test('what was pending expires with its run when the plugins that asked are gone after a restart', async () => {
  dir = await mkdtemp(join(tmpdir(), 'runwright-resume-'))
  await writeScriptedPlugin(join(dir, 'plugins'))
  bench = await RestartBench.open({ settings: { plugin_dirs: [join(dir, 'plugins')] } })
  const before = await bench.start()
  const options = ['red', 'blue'].map(label => ({ label, description: label }))
  const questions = [{ question: 'Which colour?', header: 'Colour', options }]
  const question = { id: 'q1', name: 'AskUserQuestion', arguments: { questions } }
  const trigger = { id: 't1', name: 'trigger', arguments: { n: 1 } }
  const ids = [
    await before.start(scriptedPrompt([question])),
    await before.start({ prompt: scriptedPrompt([trigger]), permissions: { approval: 'all' } }),
    await before.start({ prompt: scriptedPrompt([trigger]), rules: [{ pattern: 'trigger', effect: 'ask' }] }),
  ]
  const waiting: string[] = []
  for (const id of ids) {
    await before.until(id, id === ids[0] ? 'run.waiting_for_user' : 'tool.approval_required')
    waiting.push((await before.request('GET', `/v1/runs/${id}/checkpoint`)).body.id)
  }
  const after = await bench.restart({
    enabled_plugins: ['runs', 'sqlite', 'checkpoints', 'permission-rules', 'scripted'],
  })
  for (const [at, id] of ids.entries()) {
    const end = (await after.events(id)).at(-1)?.type
    const { body } = await after.request('GET', `/v1/checkpoints/${waiting[at]}`)
    expect([end, body.status]).toEqual([at === 1 ? 'run.failed' : 'run.completed', 'expired'])
    expect((await after.request('GET', `/v1/runs/${id}/checkpoint`)).status).toBe(404)
    expect((await after.request('POST', `/v1/checkpoints/${waiting[at]}/resume`)).status).toBe(409)
  }
})
