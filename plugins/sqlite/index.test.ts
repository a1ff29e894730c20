import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Value } from '@sinclair/typebox/value'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { PluginScope, Port } from '#contracts/plugin'
import type { MessageStore } from '#contracts/store/message-store'
import type { Records } from '#contracts/store/records'
import { SqliteConfig } from './config.js'
import { plugin } from './index.js'

let folder: string
const undos: (() => unknown)[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'runwright-plugin-'))
})
afterEach(async () => {
  for (const undo of undos.splice(0).reverse()) await undo()
  await rm(folder, { recursive: true })
})

/** One generation after another of the plugin, with the carried state of a host. */
function aHost() {
  const carried = new Map<string, unknown>()
  return async (settings: Partial<SqliteConfig>) => {
    const provided = new Map<string, unknown>()
    const own: (() => unknown)[] = []
    const scope = {
      config: Value.Default(SqliteConfig, { ...settings }),
      carry<T>(key: string, create: () => T, dispose?: (value: T) => unknown): T {
        if (!carried.has(key)) {
          const value = create()
          carried.set(key, value)
          undos.push(() => dispose?.(value))
        }
        return carried.get(key) as T
      },
      defer: (undo: () => unknown) => own.push(undo),
      provide: (to: Port<unknown>, value: unknown) => provided.set(to.name, value),
    }
    await plugin.register(scope as unknown as PluginScope<SqliteConfig>)
    const retire = async () => {
      for (const undo of own.splice(0).reverse()) await undo()
    }
    undos.push(retire)
    return { provided, retire }
  }
}

test('without a database it provides records in memory and leaves the rest to the kernel', async () => {
  const { provided } = await aHost()({})
  expect([...provided.keys()]).toEqual(['records'])
  const records = provided.get('records') as Records
  expect(records.isDurable('run')).toBe(false)
  await records.collection({ name: 'x', namespace: 'run' }).put('t', 'k', 1)
  expect(await records.collection({ name: 'x', namespace: 'run' }).get('t', 'k')).toMatchObject({ value: 1 })
})

test('histories are kept in the run database until a conversation database is named', async () => {
  const start = aHost()
  const one = await start({ run_db: join(folder, 'run.db') })
  expect([...one.provided.keys()].sort()).toEqual(['key-store', 'message-store', 'records', 'run-store'])
  expect((one.provided.get('message-store') as MessageStore).isDurable).toBe(false)
  const two = await start({ conversation_db: join(folder, 'talk.db') })
  expect([...two.provided.keys()].sort()).toEqual(['message-store', 'records'])
  expect((two.provided.get('message-store') as MessageStore).isDurable).toBe(true)
})

test('namespaces stay apart when settings name one file, and in memory', async () => {
  const file = join(folder, 'all.db')
  const { provided } = await aHost()({ run_db: file, conversation_db: file })
  const records = provided.get('records') as Records
  const collections = (['run', 'conversation', 'relay', 'state'] as const).map(namespace =>
    records.collection<string>({ name: 'x', namespace }),
  )
  for (const [index, collection] of collections.entries()) await collection.put('t', 'k', `value ${index}`)
  const values = await Promise.all(collections.map(async collection => (await collection.get('t', 'k'))?.value))
  expect(values).toEqual(['value 0', 'value 1', 'value 2', 'value 3'])
})

test('the state database is made when a plugin first keeps something there', async () => {
  const { provided } = await aHost()({ state_dir: join(folder, 'state') })
  expect(await readdir(folder)).toEqual([])
  const records = provided.get('records') as Records
  expect(records.isDurable('state')).toBe(true)
  await records.collection({ name: 'x', namespace: 'state' }).put('t', 'k', 1)
  expect(await readdir(join(folder, 'state'))).toContain('state.db')
})

test('both generations of a reload work on the same databases, in memory too', async () => {
  const start = aHost()
  const older = await start({ run_db: join(folder, 'run.db') })
  const [file, memory] = ['run', 'relay'] as const
  const put = (records: Records, namespace: typeof file | typeof memory) =>
    records.collection<number>({ name: 'x', namespace }).put('t', 'k', 1)
  const get = (records: Records, namespace: typeof file | typeof memory) =>
    records.collection<number>({ name: 'x', namespace }).get('t', 'k')
  const before = older.provided.get('records') as Records
  await put(before, file)
  await put(before, memory)
  const newer = await start({ run_db: join(folder, 'run.db') })
  await older.retire()
  const after = newer.provided.get('records') as Records
  expect([(await get(after, file))?.version, (await get(after, memory))?.version]).toEqual([1, 1])
})

test('a file that cannot be opened refuses the plugin with what to do', async () => {
  await expect(aHost()({ relay_db: folder })).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringContaining('is a folder; name a file in it'),
  })
})
