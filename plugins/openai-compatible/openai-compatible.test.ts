import { afterEach, describe, expect, test } from 'vitest'
import { MODEL_WIRES } from '#contracts/ports'
import { startChatServer } from '#test/kit/chat-server'
import { describePlugin } from '#test/kit/describe-plugin'
import { playTurn } from '#test/kit/model-turn'
import { type OpenPlugin, openPlugin } from '#test/kit/open-plugin'
import { connectionsForTest } from '#test/kit/openai-connections'
import { plugin } from './index.js'
import { KEYLESS, resolveCandidates } from './resolve.js'

describePlugin(plugin, { dir: import.meta.dirname })

const connections = connectionsForTest()
const undos: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const undo of undos.splice(0).reverse()) await undo()
  await connections.close()
})

async function opened(config: object, said: string[] = []): Promise<OpenPlugin> {
  const silent = () => {}
  const log = { debug: silent, warn: silent, error: silent, info: (_: object, words: string) => void said.push(words) }
  const open = await openPlugin(plugin, { config, log })
  undos.push(() => open.close())
  return open
}

describe('the plugin', () => {
  test('contributes one wire for both names of the protocol', async () => {
    const wires = (await opened({ api_key: 'sk-1' })).items(MODEL_WIRES)
    expect(wires.map(({ protocols }) => protocols)).toEqual([['openai_compat', 'openai']])
  })

  test('its settings are those of every connection it opens', async () => {
    const server = await startChatServer({ turns: [{ text: 'late', delayMs: 60_000 }] })
    undos.push(() => server.close())
    const [wire] = (await opened({ header_timeout_seconds: 0.05 })).items(MODEL_WIRES)
    const connection = wire!.open({
      provider: 'acme',
      baseUrl: server.baseUrl,
      credential: () => undefined,
      headers: {},
      modelPrefix: '',
      traits: () => ({ api: '', quirks: new Set() }),
    })
    undos.push(() => connection.close())
    expect((await playTurn(connection)).outcome).toMatchObject({
      failure: { message: expect.stringMatching(/no answer in time/) },
    })
  })

  test('answers itself where nobody else does, with its own key and server', async () => {
    const server = await startChatServer({ turns: [{ text: 'hello' }] })
    undos.push(() => server.close())
    const { hooks } = await opened({ api_key: ' sk-1\n', base_url: server.baseUrl, model: 'm' })
    const [candidate] = (await hooks.providerResolving.promise({ prompt: 'hi' } as never, {} as never)) ?? []
    expect(candidate).toMatchObject({ provider: 'openai', model: 'm' })
    expect((await playTurn(candidate!.client)).text).toBe('hello')
    expect(server.calls[0]?.headers.authorization).toBe('Bearer sk-1')
  })

  test('a base URL that cannot be used refuses it, naming the variable', async () => {
    await expect(opened({ base_url: 'localhost:8000' })).rejects.toThrow(/OPENAI_BASE_URL/)
  })

  test.each([
    ['a missing key is said at once', {}, [KEYLESS]],
    ['a key', { api_key: 'sk-1' }, []],
    ['another provider is forced', { provider: 'fake' }, []],
    ['a server that needs none', { base_url: 'http://127.0.0.1:8000/v1' }, []],
  ])('at start: %s', async (_, config, words) => {
    const said: string[] = []
    await opened({ base_url: 'https://api.openai.com/v1', provider: '', ...config }, said)
    expect(said).toEqual(words)
  })
})

describe('who answers without a catalog', () => {
  const client = connections.open({})
  const standard = { model: 'gpt-4.1-mini', client, lacksKey: false }

  test('the default model, with its price; another model without one', () => {
    expect(resolveCandidates({}, standard)).toMatchObject([
      { provider: 'openai', model: 'gpt-4.1-mini', rates: { inputPerMillionUsd: 0.4, outputPerMillionUsd: 1.6 } },
    ])
    const [candidate] = resolveCandidates({ model: 'local/llama', provider_name: 'openai' }, standard) ?? []
    expect(candidate).toEqual({ provider: 'openai', model: 'local/llama', client })
  })

  test('another provider is none of its business', () => {
    expect(resolveCandidates({ provider_name: 'anthropic' }, { ...standard, lacksKey: true })).toBeUndefined()
  })

  test('nor is any run while it lacks a key: who looks last says what to set', () => {
    expect(resolveCandidates({}, { ...standard, lacksKey: true })).toBeUndefined()
  })
})
