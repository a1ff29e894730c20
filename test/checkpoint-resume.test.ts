import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Booted, boot } from './kit/boot.js'
import { scriptedPrompt, writeScriptedPlugin } from './kit/scripted-plugin.js'

let daemon: Booted
let dir = ''
afterEach(async () => {
  await daemon.stop()
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
