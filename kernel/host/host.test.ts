import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, test } from 'vitest'
import { port } from '#contracts/plugin'
import type { TestApp } from '#test/kit/compose-app'
import { handlesLeftBy } from '#test/kit/handles'
import { createHostBench, entry, type Folder, type HostBench } from '#test/kit/host-bench'

let bench: HostBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

async function boot(plugins: Readonly<Record<string, Folder>>): Promise<HostBench> {
  bench = await createHostBench(plugins)
  await bench.host.sync()
  return bench
}

/** Says its word through a hook, a tool, a route, and a late import. */
const ECHO: Folder = {
  'index.js': entry(
    'echo',
    `
    scope.tap('runAdmitting', async admission => ({ ...admission, said: word }))
    scope.tool({ name: 'echo', description: 'echo', parameters: Type.Object({}), action: 'read',
      execute: async () => ({ output: (await import('./late.js')).late }) })
    scope.routes(async app => { app.get('/v1/echo', { config: { scope: 'none' } }, async () => ({ word })) })`,
    { head: `import { word } from './deep/word.js'` },
  ),
  'deep/word.js': `export { word } from './deeper.js'`,
  'deep/deeper.js': `export const word = 'one'`,
  'late.js': `export const late = 'late one'`,
}

async function sayings(epoch: HostBench['host']['current']) {
  const admitted: unknown = await epoch.hooks.runAdmitting.promise({} as never)
  const tool = await epoch.tools.get('echo')?.execute({}, {} as never)
  const reply = await (epoch.app as TestApp).fastify.inject({ url: '/v1/echo' })
  return { hook: admitted, tool, route: reply.json() as unknown }
}

const saying = (word: string) => ({ hook: { said: word }, tool: { output: `late ${word}` }, route: { word } })

test('the log of a start counts the plugins, that of a swap names what came and went', async () => {
  const { host, edit, remove, logged } = await boot({ echo: ECHO, still: { 'index.js': entry('still', '') } })
  await edit('echo', 'late.js', 'late one', 'late two')
  await host.sync()
  await remove('echo')
  await host.sync()
  const [first, second] = [expect.stringMatching(/^echo@\w+#1$/), expect.stringMatching(/^echo@\w+#3$/)]
  expect(logged.filter(({ message }) => message === 'epoch swapped').map(({ facts }) => facts)).toEqual([
    { epoch: 1, plugins: 2 },
    { epoch: 2, plugins: 2, opened: [second], closed: [first] },
    { epoch: 3, plugins: 1, opened: [], closed: [second] },
  ])
})

test('a leased epoch keeps its code, late imports too, while new work gets the new code', async () => {
  const { host, edit } = await boot({ echo: ECHO })
  const old = host.current
  const release = old.lease()
  await edit('echo', 'deep/deeper.js', 'one', 'two')
  await edit('echo', 'late.js', 'late one', 'late two')
  const report = await host.sync()
  expect(report).toMatchObject({ epoch: 2, isChanged: true, opened: ['echo'], closed: [] })
  expect(await sayings(old)).toEqual(saying('one'))
  expect(await sayings(host.current)).toEqual(saying('two'))
  expect(host.epochsAlive).toBe(2)
  release()
  release()
  await old.closed
  expect(host.epochsAlive).toBe(1)
  expect(() => old.lease()).toThrow('closed')
})

test('a request that began before the swap is answered by the old code', async () => {
  const slow = entry(
    'slow',
    `scope.routes(async app => { app.get('/v1/slow', { config: { scope: 'none' } }, async () => {
       globalThis.slowBegun?.(); await globalThis.slowGate; return { word: 'one' } }) })`,
  )
  const { host, edit } = await boot({ slow: { 'index.js': slow } })
  const server = createServer((request, response) => {
    const epoch = host.current
    response.once('close', epoch.lease())
    epoch.app.routing(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/slow`
  const { gate, open, begun } = gates()
  const first = fetch(url).then(reply => reply.json())
  await begun
  await edit('slow', 'index.js', `word: 'one'`, `word: 'two'`)
  await host.sync()
  open()
  await gate
  expect([await first, await (await fetch(url)).json()]).toEqual([{ word: 'one' }, { word: 'two' }])
  server.closeAllConnections()
  server.close()
})

function gates() {
  let open: () => void = () => undefined
  const gate = new Promise<void>(resolve => {
    open = resolve
  })
  const begun = new Promise<void>(resolve => {
    Object.assign(globalThis, { slowGate: gate, slowBegun: resolve })
  })
  return { gate, open, begun }
}

test('touching files or changing tests is no reload, and going back to earlier text needs no new copy', async () => {
  const { host, edit, write, dir } = await boot({ echo: ECHO })
  const { readdir } = await import('node:fs/promises')
  await write('echo', { ...ECHO, 'echo.test.js': 'changed', 'types.d.ts': 'x', '.index.js.swp': 'x' })
  expect(await host.sync()).toMatchObject({ epoch: 1, isChanged: false, opened: [] })
  await edit('echo', 'late.js', 'late one', 'late two')
  await host.sync()
  await edit('echo', 'late.js', 'late two', 'late one')
  expect(await host.sync()).toMatchObject({ epoch: 3, opened: ['echo'] })
  expect(await sayings(host.current)).toEqual(saying('one'))
  expect(await readdir(`${dir}/shelf`)).toHaveLength(2)
})

test('a changed provider re-opens exactly those that use it', async () => {
  const user = (name: string, manifest: string, look: string) => ({
    'index.js': entry(
      name,
      `const word = ${look}; scope.tap('runAdmitting', async all => ({ ...all, ${name}: word }))`,
      {
        head: `const WORD = port('word')`,
        manifest,
      },
    ),
  })
  const { host, edit } = await boot({
    giver: {
      'index.js': entry('giver', `scope.provide(WORD, 'one')`, {
        head: `const WORD = port('word')`,
        manifest: 'provides: [WORD],',
      }),
    },
    needing: user('needing', 'needs: [WORD],', 'scope.use(WORD)'),
    asking: user('asking', 'optional: [WORD],', 'scope.find(WORD)'),
    bystander: { 'index.js': entry('bystander', '') },
  })
  const bystander = host.current.generations.find(({ name }) => name === 'bystander')
  await edit('giver', 'index.js', `'one'`, `'two'`)
  expect((await host.sync()).opened).toEqual(['giver', 'asking', 'needing'])
  expect(await host.current.hooks.runAdmitting.promise({} as never)).toEqual({ needing: 'two', asking: 'two' })
  expect(host.current.generations).toContain(bystander)
  expect(host.current.port(port('word'))).toBe('two')
})

test('a config change re-opens the plugin, and only that plugin', async () => {
  const { host, configs } = await boot({ echo: ECHO, other: { 'index.js': entry('other', '') } })
  configs.set('other', { any: 1 })
  expect((await host.sync()).opened).toEqual(['other'])
  expect((await host.sync()).isChanged).toBe(false)
})

test('taps run by stage, then plugin name; a watching tap that throws stops nobody, an altering one does', async () => {
  const order: string[] = []
  Object.assign(globalThis, { tapOrder: order })
  const tapping = (name: string, stage: number, more = '') => ({
    'index.js': entry(
      name,
      `scope.tap('runSettling', async () => void globalThis.tapOrder.push('${name}${stage}'), { stage: ${stage} }); ${more}`,
    ),
  })
  const { host } = await boot({
    zebra: tapping('zebra', -100),
    beta: tapping('beta', 0, `scope.tap('eventAppended', () => { throw new Error('bad watcher') })`),
    delta: tapping('delta', 0, `scope.tap('eventAppended', async () => { throw new Error('late watcher') })`),
    alpha: tapping('alpha', 0, `scope.tap('runAdmitting', async () => { throw new Error('refused') })`),
    crash: tapping('crash', -1000, `scope.tap('runSettling', async () => { throw new Error('crash') }, { stage: -5 })`),
  })
  await host.current.hooks.runSettling.promise({ kind: 'cancelled' }, {} as never)
  host.current.hooks.eventAppended.call({} as never, {} as never)
  await expect(host.current.hooks.runAdmitting.promise({} as never)).rejects.toThrow('refused')
  expect(order).toEqual(['crash-1000', 'zebra-100', 'alpha0', 'beta0', 'delta0'])
  expect(host.plugins().map(({ name, last_error }) => [name, last_error])).toEqual([
    ['alpha', undefined],
    ['beta', 'tap of eventAppended: bad watcher'],
    ['crash', 'tap of runSettling: crash'],
    ['delta', 'tap of eventAppended: late watcher'],
    ['zebra', undefined],
  ])
})

test('plugins() says what each plugin adds', async () => {
  const { host } = await boot({ echo: ECHO })
  expect(host.plugins()).toEqual([
    {
      name: 'echo',
      origin: 'configured',
      state: 'running',
      generation: expect.stringMatching(/^echo@[0-9a-f]{16}#1$/),
      adds: { hooks: ['runAdmitting'], tools: ['echo'], routes: ['GET /v1/echo'], ports: [], background: [] },
    },
  ])
})

test('200 reloads leave one epoch alive, and closing leaves no handle of any of them', async () => {
  const left = await handlesLeftBy(async () => {
    const { host, write } = await boot({ echo: ECHO, spinner: { 'index.js': spinner(0) } })
    for (let round = 1; round <= 200; round += 1) {
      await write('spinner', { 'index.js': spinner(round) })
      await host.sync()
    }
    await nextTurn()
    expect([host.current.number, host.epochsAlive]).toEqual([201, 1])
    await host.close()
  })
  expect(left).toEqual([])
})

test('a retired epoch is garbage: nothing in the host, its tables or its carried values holds on to it', async () => {
  const { host, write, get } = await boot({ echo: ECHO, spinner: { 'index.js': spinner(0) } })
  const retired: WeakRef<object>[] = []
  for (let round = 1; round <= 10; round += 1) {
    retired.push(new WeakRef(host.current))
    await write('spinner', { 'index.js': spinner(round) })
    await host.sync()
    await get('/v1/spin')
  }
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  for (let turn = 0; turn < 20 && retired.some(epoch => epoch.deref()); turn += 1) {
    await nextTurn()
    collectGarbage()
  }
  expect(retired.filter(epoch => epoch.deref() !== undefined)).toEqual([])
})

const spinner = (round: number): string =>
  entry(
    'spinner',
    `const timer = setInterval(() => undefined, 60_000)
     scope.defer(() => clearInterval(timer))
     scope.carry('spins', () => ({}), () => void timer)
     scope.background('spin', async superseded => {
       const spin = setInterval(() => undefined, 60_000)
       await new Promise(resolve => superseded.addEventListener('abort', resolve, { once: true }))
       clearInterval(spin)
     })
     scope.routes(async app => { app.get('/v1/spin', { config: { scope: 'none' } }, async () => ${round}) })`,
  )
