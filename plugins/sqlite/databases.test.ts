import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aRun, eventsOf } from '#test/kit/storage-contract'
import { createDatabases, type Databases } from './databases.js'
import { openKeyStore } from './open-key-store.js'
import { createSqliteRunStore } from './run-store.js'
import { createStoreClock } from './store-clock.js'

const OWNER = { owner: 'o' }
const IN_USE = { code: 'store_unavailable', message: expect.stringContaining('in use by another runwright daemon') }
const aKey = (prefix: string) => ({
  prefix,
  digest: 'd',
  tenant_id: 't',
  name: 'n',
  scopes: ['admin'] as const,
  created_at: '2026-01-01T00:00:00.000Z',
})

let folder: string
let path: string
let databases: Databases
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'runwright-databases-'))
  path = join(folder, 'run.db')
  databases = createDatabases()
})
afterEach(async () => {
  await databases.close()
  await rm(folder, { recursive: true })
})

/** Another process with the file open, writing. */
async function anotherDaemon() {
  const writer = new URL('./testing/crash-writer.js', import.meta.url).pathname
  const child = spawn(process.execPath, [writer, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  child.stdout.once('data', () => child.stdout.resume())
  await once(child.stdout, 'data')
  return {
    async kill() {
      child.kill('SIGKILL')
      await closed
    },
  }
}

describe('one daemon per file', () => {
  test('a second one is refused, in another process and in this one, until the first is gone', async () => {
    const other = await anotherDaemon()
    await expect(databases.open(path)).rejects.toMatchObject(IN_USE)
    await other.kill()
    await databases.open(path)
    const second = createDatabases()
    await expect(second.open(path)).rejects.toMatchObject(IN_USE)
    await databases.close()
    await second.open(path)
    await second.close()
  })

  test('runs of a killed daemon are free for the next one', async () => {
    const other = await anotherDaemon()
    await other.kill()
    const store = createSqliteRunStore(await databases.open(path))
    const claimed = await store.claim('next')
    expect(claimed.length).toBeGreaterThan(0)
    expect(claimed.every(({ fence }) => fence === 2)).toBe(true)
  })

  test('generations of a plugin share the file; the last one to let go closes it', async () => {
    const [older, newer] = [await databases.open(path), await databases.open(path)]
    const [before, after] = [createSqliteRunStore(older), createSqliteRunStore(newer)]
    await before.create(aRun('a'), {}, OWNER)
    await Promise.all([
      before.commit({ runId: 'a', fence: 1 }, { events: eventsOf('a', 0, 1) }),
      after.commit({ runId: 'a', fence: 1 }, { events: eventsOf('a', 1, 1) }),
    ])
    expect(await after.claim('newer')).toEqual([])
    await databases.release(older)
    expect(await after.events('default', 'a', undefined, 9)).toEqual(eventsOf('a', 0, 2))
    const second = createDatabases()
    await expect(second.open(path)).rejects.toMatchObject(IN_USE)
    await databases.release(newer)
    await second.open(path)
    await second.close()
    await expect(after.read('default', 'a')).rejects.toMatchObject({ code: 'store_unavailable' })
  })
})

describe('key management from another process', () => {
  test('makes the file when no daemon ever ran, and works beside a running one', async () => {
    const beforehand = await openKeyStore(path)
    await beforehand.add(aKey('rw_first'))
    await beforehand.close()
    const other = await anotherDaemon()
    const beside = await openKeyStore(path)
    await beside.add(aKey('rw_later'))
    expect((await beside.list()).map(key => key.prefix)).toEqual(['rw_later', 'rw_first'])
    await beside.close()
    await other.kill()
  })

  test('is seen at once by who has the file open', async () => {
    const { send } = await databases.open(path)
    const beside = await openKeyStore(path)
    await beside.add(aKey('rw_first'))
    expect((await send('key.find', ['rw_first']))[0]).toBe('rw_first')
    await beside.revoke('rw_first')
    expect((await send('key.find', ['rw_first']))[7]).toMatch(/^\d{4}-/)
    await beside.close()
  })
})

describe('trouble', () => {
  test('a write lock held elsewhere delays writes and nothing else', async () => {
    const store = createSqliteRunStore(await databases.open(path))
    await store.create(aRun('a'), {}, OWNER)
    const other = new SqliteDatabase(path)
    other.exec('BEGIN IMMEDIATE')
    let isDone = false
    const write = store.commit({ runId: 'a', fence: 1 }, { events: eventsOf('a', 0, 1) }).then(() => {
      isDone = true
    })
    // A main thread that waits for the lock would not get to turn a hundred times, and would never see it released.
    for (let turn = 0; turn < 100; turn += 1) await new Promise(resolve => setImmediate(resolve))
    expect(isDone).toBe(false)
    other.exec('ROLLBACK')
    other.close()
    await write
    expect(await store.events('default', 'a', undefined, 9)).toEqual(eventsOf('a', 0, 1))
  })

  test('closing does not wait for a lock that nobody gives back', async () => {
    const store = createSqliteRunStore(await databases.open(path))
    await store.create(aRun('a'), {}, OWNER)
    const other = new SqliteDatabase(path)
    other.exec('BEGIN IMMEDIATE')
    const write = store.commit({ runId: 'a', fence: 1 }, { events: eventsOf('a', 0, 1) })
    // In the same batch: it must not see what the write would have been.
    const read = store.events('default', 'a', undefined, 9)
    const [outcome] = await Promise.allSettled([write, databases.close()])
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'store_unavailable' } })
    expect(await read).toEqual([])
    other.exec('ROLLBACK')
    other.close()
    databases = createDatabases()
    await databases.open(path)
  }, 5_000)

  test('an operation that fails in a way of its own takes nothing of the others with it', async () => {
    const { send, ...database } = await databases.open(path)
    const store = createSqliteRunStore({ ...database, send })
    const outcomes = await Promise.allSettled([
      store.create(aRun('a'), { events: eventsOf('a', 0, 2) }, OWNER),
      send('message.append', ['t', 'c', 'r', 'time', null, null, null, null, null, 1, null]),
      send('no.such', []),
      store.commit({ runId: 'a', fence: 1 }, { events: eventsOf('a', 2, 2) }),
    ])
    expect(outcomes).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { code: 'internal_error' } },
      { status: 'rejected', reason: { code: 'store_unavailable' } },
      { status: 'fulfilled' },
    ])
    expect(await store.events('default', 'a', undefined, 9)).toEqual(eventsOf('a', 0, 4))
    expect(await send('message.load', ['t', 'c'])).toEqual([])
  })

  test('a disk that takes no more refuses the calls, and works again when it does', async () => {
    const script = new URL('./testing/full-disk.js', import.meta.url).pathname
    const child = spawn(process.execPath, [script, path], { stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    child.stdout.on('data', chunk => {
      text += chunk
    })
    const [code] = await once(child, 'close')
    const report = JSON.parse(text)
    expect({ code, report }).toEqual({
      code: 0,
      report: { refusals: ['store_unavailable'], isStoredAsTold: true, wasReadable: true, worksAgain: true },
    })
  })

  test('after close every call is refused, and what was sent before is done', async () => {
    const store = createSqliteRunStore(await databases.open(path))
    const creations = Array.from({ length: 300 }, (_, index) => store.create(aRun(`r${index}`), {}, OWNER))
    await databases.close()
    expect((await Promise.all(creations)).every(({ kind }) => kind === 'created')).toBe(true)
    await expect(store.read('default', 'r1')).rejects.toMatchObject({ code: 'store_unavailable' })
    databases = createDatabases()
    const again = createSqliteRunStore(await databases.open(path))
    expect(await again.list('default', { limit: 1_000 })).toHaveLength(300)
  })
})

test('the log stays below 64 MB however much is written', async () => {
  const store = createSqliteRunStore(await databases.open(path))
  await store.create(aRun('a'), {}, OWNER)
  const data = JSON.stringify({ text: 'x'.repeat(60_000) })
  let largest = 0
  for (let round = 0; round < 40; round += 1) {
    const events = Array.from({ length: 40 }, (_, index) => ({ seq: round * 40 + index, type: 't', data }))
    await store.commit({ runId: 'a', fence: 1 }, { events })
    largest = Math.max(largest, statSync(`${path}-wal`).size)
  }
  expect(largest).toBeLessThan(64 * 1024 * 1024)
})

describe('the clock', () => {
  test('starts no earlier than the highest time the file has seen', async () => {
    await databases.open(path)
    await databases.close()
    const file = new SqliteDatabase(path)
    const ahead = Date.now() + 3_600_000
    file.prepare(`UPDATE meta SET value = ? WHERE name = 'clock'`).run(ahead)
    file.close()
    databases = createDatabases()
    const { now } = await databases.open(path)
    expect(now()).toBeGreaterThanOrEqual(ahead)
    expect(now()).toBeLessThan(ahead + 60_000)
  })

  test('goes on at the pace of the monotonic clock while the wall clock is behind', () => {
    let [wall, monotonic] = [5_000, 0]
    const now = createStoreClock(
      1_000,
      () => wall,
      () => monotonic,
    )
    expect(now()).toBe(5_000)
    wall = 100
    monotonic = 250
    expect(now()).toBe(5_250)
    wall = 9_000
    expect(now()).toBe(9_000)
  })
})
