import { afterEach, describe, expect, test } from 'vitest'
import { createHostBench, entry, type Folder, type HostBench } from '#test/kit/host-bench'

let bench: HostBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

const WORD = `const WORD = port('word'), DEED = port('deed')`
const folder = (text: string): Folder => ({ 'index.js': text })
/** Notes in a global list what is undone. */
const GOOD = folder(
  entry(
    'good',
    `scope.defer(() => void globalThis.undone?.push('good'))
     scope.provide(WORD, 'word')
     scope.tool({ name: 'good', description: 'good', parameters: Type.Object({}), action: 'read', execute: async () => ({ output: '' }) })
     scope.routes(async app => { app.get('/v1/good', { config: { scope: 'none' } }, async () => 'good') })`,
    { head: WORD, manifest: 'provides: [WORD],' },
  ),
)

/** What the folder of `bad` holds → what the error says. Nothing was opened by then. */
const LOADING: readonly [string, Folder, RegExp][] = [
  ['a syntax error', folder('export const plugin = {\n  name: ;\n}'), /index\.js:2:9: .*Unexpected/],
  [
    'a TypeScript error of syntax',
    { 'index.ts': 'export const plugin: = 1' },
    /cannot be loaded from .*index\.ts:1:22/,
  ],
  ['a missing file', folder(`import './gone.js'`), /Cannot find module .*gone\.js/],
  ['a throw at import', folder(`throw new Error('early')`), /early/],
  ['an import that never ends', folder('await new Promise(() => undefined)'), /importing it took longer than 1500 ms/],
  ['no entry', { 'other.js': '' }, /there is no index\.js or index\.ts/],
  ['both an index.ts and an index.js', { 'index.js': '', 'index.ts': '' }, /holds both index\.js and index\.ts/],
  ['no plugin', folder('export const plug = 1'), /exports no plugin: .*export const plugin/],
  ['another name', folder(entry('worse', '')), /calls itself "worse"/],
  ['no register', folder(`export const plugin = { name: 'bad', config: {} }`), /no register function/],
]

/** The same for mistakes that show only once other plugins were opened. */
const OPENING: typeof LOADING = [
  ['a throw in register', folder(entry('bad', `throw new Error('oops')`)), /failed to register: oops/],
  [
    'a register that hangs',
    folder(entry('bad', 'await new Promise(() => undefined)')),
    /register took longer than 1500/,
  ],
  ['a hook that is none', folder(entry('bad', `scope.tap('runDancing', async () => 1)`)), /"runDancing", which is no/],
  [
    'an undeclared service',
    folder(entry('bad', `scope.provide(DEED, 1)`, { head: WORD })),
    /deed: list it in "provides"/,
  ],
  ['an undeclared need', folder(entry('bad', 'scope.use(WORD)', { head: WORD })), /word: list it in "needs"/],
  [
    'a service that another plugin provides',
    folder(entry('bad', 'scope.provide(WORD, 1)', { head: WORD, manifest: 'provides: [WORD],' })),
    /"bad" provides the port word, as good does already/,
  ],
  [
    'a tool that another plugin adds',
    folder(entry('bad', `scope.tool({ name: 'good', description: '', parameters: Type.Object({}), action: 'read' })`)),
    /"bad" adds the tool good, as good does already/,
  ],
  [
    'a route that another plugin serves',
    folder(entry('bad', `scope.routes(async app => { app.get('/v1/good', async () => 1) })`)),
    /routes that cannot be composed: .*\/v1\/good/,
  ],
  [
    'a bad config',
    folder(
      entry('bad', '').replace(
        'Type.Object({})',
        'Type.Object({ port: Type.Number(), deep: Type.Object({ a: Type.String() }) })',
      ),
    ),
    /bad config: port: Expected required property; deep: .*\[plugins\.bad\] in the config file/,
  ],
]

const MISTAKES = [
  ...LOADING.map(([what, bad, message]) => ({ what, bad, message, undoneThen: '' })),
  ...OPENING.map(([what, bad, message]) => ({ what, bad, message, undoneThen: 'aab,aaa' })),
]

describe.each(MISTAKES)('$what', ({ bad, message, undoneThen }) => {
  test('keeps the daemon from starting, with the name of a plugin and how to switch it off', async () => {
    bench = await createHostBench({ good: GOOD, bad }, { limitMs: 1500 })
    const error: unknown = await bench.host.sync().catch((reason: unknown) => reason)
    expect((error as Error).message).toMatch(
      /^plugin "(bad|good)" [\s\S]*[^.]\.\nTo start without it, [\s\S]*\[plugins\.(bad|good)\] enabled = false\.$/,
    )
  })

  test('leaves the running epoch alone on a reload, undoes what was opened, and is shown', async () => {
    const undone: string[] = []
    Object.assign(globalThis, { undone })
    bench = await createHostBench({ good: GOOD }, { limitMs: 1500 })
    const { host } = bench
    await host.sync()
    const before = host.current
    const fresh = (name: string) => folder(entry(name, `scope.defer(() => void globalThis.undone.push('${name}'))`))
    await bench.write('aaa', fresh('aaa'))
    await bench.write('aab', fresh('aab'))
    await bench.write('bad', bad)
    await expect(host.sync()).rejects.toThrow(message)
    expect(host.current).toBe(before)
    expect(host.epochsAlive).toBe(1)
    expect(undone.join()).toBe(undoneThen)
    const shown = host.plugins().filter(({ last_error }) => last_error !== undefined)
    expect(shown).toHaveLength(1)
    expect(shown[0]?.last_error).toMatch(message)
    expect(bench.logged.filter(({ level }) => level === 'error')).toHaveLength(1)
    await bench.remove('bad')
    await host.sync()
    expect(host.plugins().map(({ name, state, last_error }) => [name, state, last_error])).toEqual([
      ['aaa', 'running', undefined],
      ['aab', 'running', undefined],
      ['good', 'running', undefined],
    ])
  })
})
