import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Booted } from '#test/kit/boot'
import { startChatServer } from '#test/kit/chat-server'
import { bootWith } from './wires.js'

const undos: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const undo of undos.splice(0).reverse()) await undo()
})

async function bare(config = ''): Promise<Booted> {
  const dir = await mkdtemp(join(tmpdir(), 'runwright-nothing-'))
  undos.push(() => rm(dir, { recursive: true, force: true }))
  const configFile = join(dir, 'own.toml')
  await writeFile(configFile, config)
  const live = await bootWith([], { dir, configFile })
  undos.push(live.stop)
  return live
}

const END = {
  default:
    /^no model provider is configured: the default model "gpt-4\.1-mini" is one of openai.*OPENAI_API_KEY.*SVC_MODEL.*"runwright providers"/,
  mistyped:
    /no provider here is known to have "claude-sonet"\. Did you mean claude-sonnet \(anthropic\).*No provider is configured yet: "runwright providers"/,
  known: /^model "claude-opus-5": provider anthropic cannot be asked: set ANTHROPIC_API_KEY, or PUT/,
}

test('with nothing configured a run says which provider and variable it is about, and where all are listed', async () => {
  const live = await bare()
  const error = async (request: object) => (await live.run({ prompt: 'hi', ...request })).at(-1)?.payload?.error
  expect(await error({})).toMatch(END.default)
  expect(await error({ provider_name: 'default' })).toMatch(END.default)
  expect(await error({ model: 'claude-sonet' })).toMatch(END.mistyped)
  expect(await error({ model: 'claude-opus-5' })).toMatch(END.known)
  const summary = await live.request('POST', '/v1/summarize', { messages: [{ role: 'user', content: 'hi' }] })
  expect([summary.status, summary.body.error.message]).toEqual([503, expect.stringContaining('OPENAI_API_KEY')])
})

test('settings of the bare client’s own answer a run before anybody complains', async () => {
  const server = await startChatServer({ turns: [{ text: 'bare' }] })
  undos.push(() => server.close())
  const live = await bare(`[plugins.openai-compatible]\nbase_url = "${server.baseUrl}"\napi_key = "sk-own"\n`)
  expect((await live.run({ prompt: 'hi', model: 'nobody-has-it' })).at(-1)?.payload).toMatchObject({ output: 'bare' })
  expect(server.calls[0]?.headers.authorization).toBe('Bearer sk-own')
})
