import { describe, expect, test } from 'vitest'
import { serverWith } from '../testing/server-with.js'
import { testEnvironment } from '../testing/test-environment.js'

describe('models and providers', () => {
  const models = [
    { id: 'a-1', provider: 'acme', aliases: ['a', 'one'], context_window: 1000000, input_cost_per_mtok: 0.4 },
    { id: 'b-1', provider: 'bolt', aliases: [] },
  ]
  const providers = [
    { name: 'acme', configured: true, base_url: 'https://acme.example/v1', model_count: 1, health: 'ok' },
    { name: 'bolt', configured: true, base_url: 'https://bolt.example', health: 'failed', health_error: 'key refused' },
    { name: 'cord', configured: false, api_key_env: 'CORD_KEY', auth_type: 'api_key', health: 'unconfigured' },
    { name: 'dial', configured: false, auth_type: 'subscription', health: 'unconfigured' },
    { name: 'echo', configured: false, api_key_env: 'ECHO_KEY', missing: 'its base URL must be absolute' },
    { name: 'fern', configured: false, api_key_env: 'FERN_KEY', missing: 'set FERN_KEY, or PUT it' },
  ]
  const answering = () =>
    serverWith({
      answer: ({ method, path }) => {
        if (method !== 'GET') return { status: 204, body: undefined }
        return { status: 200, body: path.startsWith('/v1/models') ? { models } : { providers } }
      },
    })

  test('models are a table; an unknown price is a question mark, not nothing', async () => {
    const { baseUrl } = await answering()
    expect(
      (await testEnvironment({ baseUrl }).run('models')).out,
    ).toBe(`MODEL  PROVIDER  ALIASES  CONTEXT    $/M IN  $/M OUT
a-1    acme      a, one   1,000,000  0.4     ?
b-1    bolt                          ?       ?
`)
    const one = await testEnvironment({ baseUrl }).run('models', '--provider', 'bolt', '--json')
    expect(JSON.parse(one.out).models.map(({ id }: { id: string }) => id)).toEqual(['b-1'])
    const none = await testEnvironment({ baseUrl }).run('models', '--provider', 'nobody')
    expect(none.out).toContain('no models of nobody')
  })

  test('providers say who answers and what the others need', async () => {
    const server = await answering()
    const { out } = await testEnvironment({ baseUrl: server.baseUrl }).run('providers', '--check')
    expect(out).toBe(`PROVIDER  CONFIGURED  REACHABLE  MODELS  BASE URL                 TO USE IT
acme      yes         yes        1       https://acme.example/v1
bolt      yes         no                 https://bolt.example
cord      no                                                      set CORD_KEY
dial      no                                                      runwright providers import dial
echo      no                                                      see below
fern      no                                                      set FERN_KEY

bolt: key refused

echo: its base URL must be absolute
`)
    expect(server.seen.at(-1)?.path).toBe('/v1/providers?check=true')
  })

  test('a key comes from stdin and from nowhere else', async () => {
    const server = await answering()
    const { baseUrl } = server
    const set = await testEnvironment({ baseUrl, input: 'sk-1\n' }).run('providers', 'key', 'cord')
    expect([set.code, set.out]).toEqual([0, 'cord has its key\n'])
    expect(server.seen.at(-1)).toMatchObject({
      method: 'PUT',
      path: '/v1/providers/cord/key',
      body: { key: 'sk-1' },
    })
    const typed = await testEnvironment({ baseUrl, isTty: { stdin: true, stdout: true } }).run(
      'providers',
      'key',
      'cord',
    )
    expect([typed.code, typed.err.includes('on stdin')]).toEqual([1, true])
    expect((await testEnvironment({ baseUrl }).run('providers', 'key', 'cord')).err).toContain('stdin holds no key')
    expect((await testEnvironment({ baseUrl }).run('providers', 'import', 'dial')).out).toBe(
      'dial uses the imported session\n',
    )
  })
})
