import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Booted, boot } from '#test/kit/boot'
import { type ChatServer, startChatServer } from '#test/kit/chat-server'
import { describePlugin } from '#test/kit/describe-plugin'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname })

let server: ChatServer
let daemon: Booted
beforeEach(async () => {
  server = await startChatServer({ respond: () => ({ text: 'done' }) })
})
afterEach(async () => {
  await daemon?.stop()
  await server.close()
})

async function modelOf(settings: object, fields: object) {
  daemon = await boot({ modelUrl: server.baseUrl, settings })
  const events = await daemon.run({ prompt: 'hi', ...fields })
  const run = (await daemon.request('GET', `/v1/runs/${events[0]!.run_id}`)).body
  expect(run.model).toBe(server.calls.at(-1)?.body?.model)
  return run.model
}

test('the primary model of a request takes the place of its model and of the deployment’s', async () => {
  const fields = { model: 'asked', role_models: { primary: 'of-request' } }
  expect(await modelOf({ role_model_primary: 'of-deployment' }, fields)).toBe('of-request')
})

test('the primary model of the deployment takes the place of the model', async () => {
  expect(await modelOf({ role_model_primary: 'of-deployment' }, { role_models: { summarizer: 'small' } })).toBe(
    'of-deployment',
  )
})

test('without one the model is the one asked for', async () => {
  expect(await modelOf({}, { model: 'asked', role_models: { primary: '' } })).toBe('asked')
})

test('what is no text is refused with the field', async () => {
  daemon = await boot({ modelUrl: server.baseUrl })
  expect(await daemon.request('POST', '/v1/runs', { prompt: 'hi', role_models: { primary: 1 } })).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining('role_models.primary') } },
  })
})
