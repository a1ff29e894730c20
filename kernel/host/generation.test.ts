import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { createHostBench, entry, type Folder, type HostBench } from '#test/kit/host-bench'

let bench: HostBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

const folder = (text: string): Folder => ({ 'index.js': text })

async function boot(plugins: Readonly<Record<string, Folder>>): Promise<HostBench> {
  bench = await createHostBench(plugins)
  await bench.host.sync()
  return bench
}

test('background work of two generations never overlaps, also when the old one stops slowly', async () => {
  const log: string[] = []
  Object.assign(globalThis, { tickLog: log })
  const ticker = (version: string) => ({
    'index.js': entry(
      'ticker',
      `scope.background('tick', async superseded => {
         globalThis.tickLog.push('start ${version}')
         await new Promise(resolve => superseded.addEventListener('abort', resolve, { once: true }))
         for (let turn = 0; turn < 20; turn += 1) await new Promise(resolve => setImmediate(resolve))
         globalThis.tickLog.push('stop ${version}')
       })`,
    ),
  })
  const { host, write } = await boot({ ticker: ticker('1') })
  const release = host.current.lease()
  await write('ticker', ticker('2'))
  await host.sync()
  await nextTurn()
  expect(log).toEqual(['start 1', 'stop 1', 'start 2'])
  release()
  await host.close()
  expect(log).toEqual(['start 1', 'stop 1', 'start 2', 'stop 2'])
})

test('what is carried survives reloads and refused reloads, and is disposed with the newest code at unload', async () => {
  const log: string[] = []
  Object.assign(globalThis, { carryLog: log })
  const keeper = (version: number, then = '') => ({
    'index.js': entry(
      'keeper',
      `const counter = scope.carry('counter', () => ({ made: ${version} }), () => void globalThis.carryLog.push('gone by ${version}'))
       scope.defer(() => void globalThis.carryLog.push('undo ${version}'))
       scope.tap('runAdmitting', async () => ({ made: counter.made }))
       ${then}`,
    ),
  })
  const { host, write, remove } = await boot({ keeper: keeper(1) })
  await write('keeper', keeper(2))
  await host.sync()
  await write('keeper', keeper(3, `throw new Error('no')`))
  await expect(host.sync()).rejects.toThrow('no')
  expect(await host.current.hooks.runAdmitting.promise({} as never)).toEqual({ made: 1 })
  const release = host.current.lease()
  const old = host.current
  await remove('keeper')
  expect((await host.sync()).closed).toEqual(['keeper'])
  expect(log).toEqual(['undo 1', 'undo 3'])
  release()
  await old.closed
  expect(log).toEqual(['undo 1', 'undo 3', 'undo 2', 'gone by 2'])
})

test('background work that fails is logged and shown, and the rest goes on', async () => {
  const { host, logged } = await boot({
    faulty: { 'index.js': entry('faulty', `scope.background('boom', async () => { throw new Error('boom') })`) },
  })
  await nextTurn()
  expect(host.plugins()[0]).toMatchObject({ state: 'running', last_error: 'background boom: boom' })
  expect(logged.filter(({ level }) => level === 'error')).toHaveLength(1)
})

test('a register that goes on after it was given up can declare nothing and leaves nothing', async () => {
  const undone: string[] = []
  let open: () => void = () => undefined
  const gate = new Promise<void>(resolve => {
    open = resolve
  })
  Object.assign(globalThis, { undone, lateGate: gate })
  const late = entry(
    'late',
    `await globalThis.lateGate
     scope.defer(() => void globalThis.undone.push('acquired late'))
     try { scope.tap('runSettled', async () => 1) } catch (error) { globalThis.undone.push(error.message) }
     throw new Error('nobody listens')`,
  )
  bench = await createHostBench({ late: folder(late) }, { limitMs: 1000 })
  await expect(bench.host.sync()).rejects.toThrow('took longer')
  open()
  await gate
  await Promise.resolve()
  expect(undone).toEqual(['acquired late', 'tap(runSettled) comes too late: plugin "late" has already registered'])
})

test('an undo that fails or hangs skips none and is shown nowhere but in the log', async () => {
  const undone: string[] = []
  Object.assign(globalThis, { undone })
  const messy = entry(
    'messy',
    `scope.defer(() => void globalThis.undone.push('first'))
     scope.defer(() => new Promise(() => undefined))
     scope.defer(() => { throw new Error('stuck') })
     scope.defer(() => void globalThis.undone.push('last'))`,
  )
  bench = await createHostBench({ messy: folder(messy) }, { limitMs: 1000 })
  await bench.host.sync()
  await bench.host.close()
  expect(undone).toEqual(['last', 'first'])
  expect(bench.logged.filter(({ level }) => level === 'error').map(({ facts }) => facts.error)).toEqual([
    'stuck',
    'an undo took longer than 1000 ms',
  ])
})

test('background work that will not stop holds up its successor and nothing else', async () => {
  const begun: number[] = []
  let open: () => void = () => undefined
  const gate = new Promise<void>(resolve => {
    open = resolve
  })
  Object.assign(globalThis, { begun, stubbornGate: gate })
  const stubborn = (version: number) =>
    folder(
      entry(
        'stubborn',
        `scope.background('sit', async () => { globalThis.begun.push(${version}); await globalThis.stubbornGate })`,
      ),
    )
  bench = await createHostBench({ stubborn: stubborn(1) }, { limitMs: 1000 })
  await bench.host.sync()
  await bench.write('stubborn', stubborn(2))
  expect((await bench.host.sync()).epoch).toBe(2)
  expect(begun).toEqual([1])
  open()
  await gate
  await new Promise(setImmediate)
  expect(begun).toEqual([1, 2])
})
