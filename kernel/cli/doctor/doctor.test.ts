import { describe, expect, test } from 'vitest'
import { serverWith } from '../testing/server-with.js'
import { testEnvironment } from '../testing/test-environment.js'

describe('doctor', () => {
  test('says ok, warn or fail with what to do; a failure is exit code 1', async () => {
    const { baseUrl } = await serverWith({ status: 'completed' })
    const good = await testEnvironment({
      baseUrl,
      doctorChecks: async () => [{ name: 'sandbox', state: 'ok', says: 'bubblewrap' }],
    }).run('doctor')
    expect({ ...good, out: good.out.replace(/in \d+ ms/, 'in N ms') }).toEqual({
      code: 0,
      err: '',
      out: `ok    node        Node.js v20.20.0
ok    config      every setting was understood
warn  database    none is set here: a daemon started from this shell forgets its runs, and asks for no key
                  set SVC_RUN_DB=<file> to keep runs and to make keys
ok    sandbox     bubblewrap
ok    daemon      answers at ${baseUrl}
ok    model       gpt-4.1-mini of openai answered in N ms
`,
    })
    const bad = await testEnvironment({
      nodeVersion: 'v20.18.1',
      loadConfig: async () => Promise.reject(new Error('team.toml:3: not TOML')),
    }).run('doctor', '--json')
    expect(bad.code).toBe(1)
    expect(JSON.parse(bad.out).checks.map(({ name, state }: { name: string; state: string }) => [name, state])).toEqual(
      [
        ['node', 'fail'],
        ['config', 'fail'],
        ['daemon', 'warn'],
        ['model', 'warn'],
      ],
    )
  })

  test('a key the daemon does not take is a failure, though the daemon answers', async () => {
    const { baseUrl } = await serverWith({
      answer: ({ path }) =>
        path === '/v1/plugins'
          ? { status: 401, body: { error: { code: 'unauthorized', message: 'invalid api key' } } }
          : undefined,
    })
    const { code, out } = await testEnvironment({ baseUrl, token: 'wrong' }).run('doctor', '--no-ask', '--json')
    const daemon = JSON.parse(out).checks.find(({ name }: { name: string }) => name === 'daemon')
    expect({ code, daemon }).toEqual({
      code: 1,
      daemon: {
        name: 'daemon',
        state: 'fail',
        says: `answers at ${baseUrl}, but not to us: unauthorized: invalid api key`,
        advice: expect.stringContaining('SVC_TOKEN'),
      },
    })
  })

  test('without a daemon it asks one of its own, and stops it; what the model answered is told', async () => {
    const { baseUrl } = await serverWith({
      answer: ({ method }) =>
        method === 'GET' ? { status: 200, body: { status: 'failed', model: 'm', error: 'no key' } } : undefined,
    })
    let stops = 0
    const startTrial = async () => ({ url: baseUrl, stop: async () => void stops++ })
    const { out, code } = await testEnvironment({ startTrial }).run('doctor', '--json')
    const model = JSON.parse(out).checks.find(({ name }: { name: string }) => name === 'model')
    expect({ code, stops, state: model.state, says: model.says }).toEqual({
      code: 1,
      stops: 1,
      state: 'fail',
      says: 'm did not answer: no key',
    })
    const silent = await testEnvironment({ startTrial }).run('doctor', '--no-ask', '--json')
    expect([stops, silent.out.includes('"model"')]).toEqual([1, false])
  })
})
