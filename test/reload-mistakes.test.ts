import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootOnCopy, type Folder, type ReloadBench } from '#test/kit/reload-bench'
import { probePlugin, wordsIn } from '#test/kit/reload-probe'

/** Hanging code is given up after this long; a boot beside other suites imports 40 plugins in much less. */
const LIMIT_MS = 3000
const CONFIG = '[plugins.probe]\nnote = "kept"\n'

const entry = (name: string, body: string, manifest = '') => `
import { Type } from '@sinclair/typebox'
import { definePlugin, port } from 'runwright/contracts'
export const plugin = definePlugin({ name: '${name}', config: Type.Object({}), ${manifest} register(scope) { ${body} } })
`
const giver = { 'index.js': entry('giver', 'scope.provide(port("word"), 1)', 'provides: [port("word")],') }
const taker = { 'index.js': entry('taker', '', 'needs: [port("word")],') }

let bench: ReloadBench
beforeAll(async () => {
  bench = await bootOnCopy({
    plugins: { probe: probePlugin('good'), giver, taker },
    config: CONFIG,
    pluginLimitMs: LIMIT_MS,
  })
})
afterAll(() => bench.stop())

const PROBE = { prompt: 'go', provider_name: 'probe' }
const isWorking = async (): Promise<void> => {
  const events = await bench.run(PROBE)
  expect(wordsIn(events.at(-1)?.payload?.output)).toEqual(['<good>'])
}

interface Mistake {
  readonly what: string
  /** Whose row shows it; default `probe`. */
  readonly plugin?: string
  readonly folder: Folder
  readonly says: RegExp
}

const index = (change: (text: string) => string): Folder => ({
  'index.js': change(probePlugin('bad')['index.js'] ?? ''),
})
const inRegister = (code: string): Folder =>
  index(text => text.replace('register(scope) {', `register(scope) { ${code};`))

const MISTAKES: readonly Mistake[] = [
  { what: 'a syntax error', folder: { 'word.js': 'export const word = ;' }, says: /word\.js:1:21/ },
  {
    what: 'a half-written file',
    folder: index(text => text.slice(0, text.length / 2)),
    says: /cannot be loaded .*index\.js/,
  },
  { what: 'an emptied file', folder: { 'index.js': '' }, says: /exports no plugin/ },
  {
    what: 'an import of what is not there',
    folder: { 'late.js': '', 'word.js': `import './gone.js'` },
    says: /gone\.js/,
  },
  {
    what: 'a throw at import',
    folder: { 'word.js': `export const word = 1; throw new Error('too early')` },
    says: /too early/,
  },
  {
    what: 'an import that never ends',
    folder: { 'word.js': 'await new Promise(() => undefined); export const word = 1' },
    says: /importing it took longer than 3000 ms/,
  },
  { what: 'a throw in register', folder: inRegister(`throw new Error('oops')`), says: /failed to register: oops/ },
  {
    what: 'a register that hangs',
    folder: index(text => text.replace('register(scope) {', 'async register(scope) { await new Promise(() => {});')),
    says: /register took longer than 3000 ms/,
  },
  {
    what: 'a need that nobody meets',
    folder: index(text =>
      `import { port } from 'runwright/contracts'\n${text}`.replace('honours:', `needs: [port('nowhere')], honours:`),
    ),
    says: /cannot be reloaded: nothing provides what it needs: nowhere/,
  },
  {
    what: 'a service that is no longer provided',
    plugin: 'taker',
    folder: giver,
    says: /"taker" cannot be reloaded: nothing provides what it needs: word/,
  },
  {
    what: 'a route of the runs plugin',
    folder: index(text => text.replace(`'/v1/probe'`, `'/v1/runs/:any'`)),
    says: /plugin probe: the route GET \/v1\/runs\/:\w+ is already declared by plugin runs/,
  },
  {
    what: 'a route without a scope',
    folder: index(text => text.replace(`{ config: { scope: 'runs:read' } }, `, '')),
    says: /declares no config\.scope/,
  },
  {
    what: 'a tool of another plugin',
    folder: index(text => text.replace(`name: 'probe',\n      description`, `name: 'ls',\n      description`)),
    says: /adds the tool ls, as file-tools does already/,
  },
  {
    what: 'a config its schema refuses',
    folder: index(text =>
      text.replace(`note: Type.String({ default: '' })`, 'note: Type.String(), more: Type.Number()'),
    ),
    says: /bad config: more: Expected required property/,
  },
  {
    what: 'another name',
    folder: index(text => text.replace(`name: 'probe'`, `name: 'prober'`)),
    says: /calls itself "prober"/,
  },
]

describe.each(MISTAKES)('$what', ({ what, plugin = 'probe', folder, says }) => {
  test('is refused, shown and logged; everything runs on as before, and the mended folder is taken', async () => {
    const { epoch, errors } = { epoch: bench.daemon.host.current, errors: errorsLogged().length }
    const inFlight = bench.run(PROBE)
    if (what === 'a service that is no longer provided') await bench.write('giver', { 'index.js': entry('giver', '') })
    else await bench.write('probe', folder)
    const refused = await bench.reload()
    expect([refused.status, refused.body.error]).toEqual([400, expect.stringMatching(says)])
    expect(bench.daemon.host.current).toBe(epoch)
    expect(await bench.row(plugin)).toMatchObject({ state: 'running', last_error: expect.stringMatching(says) })
    expect(errorsLogged().length).toBe(errors + 1)
    expect((await inFlight).at(-1)?.type).toBe('run.completed')
    await isWorking()
    await bench.write('giver', giver)
    await bench.write('probe', probePlugin('good'))
    expect(await bench.reload()).toMatchObject({ status: 200 })
    expect((await bench.rows()).filter(({ last_error }) => last_error !== undefined)).toEqual([])
    await expect.poll(() => bench.daemon.host.epochsAlive).toBe(1)
  })
})

const errorsLogged = () => bench.logged.filter(({ level }) => level === 'error')

test('a watching tap that throws is shown with its plugin and harms no run; an altering one fails the run alone', async () => {
  await bench.write('probe', inRegister(`scope.tap('runSettled', async () => { throw new Error('bad watcher') })`))
  await bench.reload()
  expect((await bench.run(PROBE)).at(-1)?.type).toBe('run.completed')
  await expect.poll(async () => (await bench.row('probe'))?.last_error).toBe('tap of runSettled: bad watcher')
  await bench.write('probe', inRegister(`scope.tap('turnRequesting', async () => { throw new Error('bad change') })`))
  await bench.reload()
  expect((await bench.run(PROBE)).at(-1)).toMatchObject({
    type: 'run.failed',
    payload: { error: expect.stringContaining('bad change') },
  })
  await bench.write('probe', probePlugin('good'))
  await bench.reload()
  await isWorking()
})

test('a database that keeps runs or keys is not taken from under a running daemon', async () => {
  const durable = await bootOnCopy({ isDurable: true, hasAuth: true })
  try {
    const runs = async () => (await durable.request('GET', '/v1/runs')).status
    expect(await runs()).toBe(401)
    await durable.remove('sqlite')
    await expect(durable.daemon.sync()).rejects.toThrow(/keeps runs.*cannot be taken.*restart/)
    expect(await runs()).toBe(401)
  } finally {
    await durable.stop()
  }
})
