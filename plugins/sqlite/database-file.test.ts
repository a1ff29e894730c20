import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aRun, eventsOf } from '#test/kit/storage-contract'
import { createDatabases } from './databases.js'
import { MIGRATIONS, migrate } from './migrations.js'
import { createSqliteRunStore } from './run-store.js'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'runwright-file-'))
  path = join(folder, 'run.db')
})
afterEach(() => rm(folder, { recursive: true }))

/** What opening the file says; closes it again when it opens. */
async function refusalOf(file = path): Promise<string | undefined> {
  const databases = createDatabases()
  try {
    await databases.open(file)
    return undefined
  } catch (error) {
    expect(error).toMatchObject({ code: 'store_unavailable' })
    return (error as Error).message
  } finally {
    await databases.close()
  }
}

/** A database with some runs in it; the copy is taken before it is closed, as a kill would leave it. */
async function fill(copyTo?: string): Promise<void> {
  const databases = createDatabases()
  const store = createSqliteRunStore(await databases.open(path))
  for (let index = 0; index < 50; index += 1)
    await store.create(aRun(`r${index}`), { events: eventsOf(`r${index}`, 0, 20) }, { owner: 'o' })
  if (copyTo) for (const suffix of ['', '-wal']) copyFileSync(path + suffix, copyTo + suffix)
  await databases.close()
}

test('files are made for their owner only', async () => {
  const databases = createDatabases()
  const file = join(folder, 'deeper', 'run.db')
  const store = createSqliteRunStore(await databases.open(file))
  await store.create(aRun('a'), {}, { owner: 'o' })
  const modes = readdirSync(join(folder, 'deeper'))
    .sort()
    .map(name => [name, statSync(join(folder, 'deeper', name)).mode & 0o777])
  expect(modes).toEqual(['run.db', 'run.db-shm', 'run.db-wal', 'run.db.lock'].map(name => [name, 0o600]))
  await databases.close()
})

describe('what is no sound database of ours is refused, and left as it is', () => {
  test.each<[string, RegExp, () => void]>([
    ['a text file', /is not a database; move it away/, () => writeFileSync(path, 'plain text\n'.repeat(500))],
    ['a folder', /is a folder; name a file in it/, () => mkdirSync(path)],
    ['a link to nowhere', /is a symbolic link/, () => symlinkSync(join(folder, 'elsewhere.db'), path)],
    ['a log without its database', /run\.db is missing but its log/, () => writeFileSync(`${path}-wal`, 'frames')],
    [
      'an emptied file beside its log',
      /is empty but its log/,
      () => {
        writeFileSync(`${path}-wal`, 'frames')
        writeFileSync(path, '')
      },
    ],
    [
      "another program's database",
      /is a database of another program/,
      () => {
        const other = new SqliteDatabase(path)
        other.exec('CREATE TABLE notes (text)')
        other.close()
      },
    ],
  ])('%s', async (_name, message, arrange) => {
    arrange()
    const before = existsSync(path) && statSync(path).isFile() ? readFileSync(path) : undefined
    expect(await refusalOf()).toMatch(message)
    const after = existsSync(path) && statSync(path).isFile() ? readFileSync(path) : undefined
    expect(after).toEqual(before)
    expect(existsSync(join(folder, 'elsewhere.db'))).toBe(false)
  })

  test('a link to a database', async () => {
    await fill()
    symlinkSync(path, join(folder, 'link.db'))
    expect(await refusalOf(join(folder, 'link.db'))).toMatch(/symbolic link; name the database file itself/)
  })

  test('a database of a newer build', async () => {
    await fill()
    const file = new SqliteDatabase(path)
    file.pragma(`user_version = ${MIGRATIONS.length + 2}`)
    file.close()
    const newer = new RegExp(
      `written by a newer runwright \\(schema ${MIGRATIONS.length + 2}, this build knows ${MIGRATIONS.length}\\)`,
    )
    expect(await refusalOf()).toMatch(newer)
  })

  test('flipped and missing pages', async () => {
    await fill()
    const sound = readFileSync(path)
    const flipped = Buffer.from(sound)
    for (let page = 1; page < sound.length / 4096; page += 1) flipped.fill(0xa5, page * 4096, page * 4096 + 64)
    writeFileSync(path, flipped)
    expect(await refusalOf()).toMatch(/is damaged .*restore it from a backup/)
    writeFileSync(path, sound.subarray(0, 3 * 4096))
    expect(await refusalOf()).toMatch(/is damaged .*restore it from a backup/)
    writeFileSync(path, sound)
    expect(await refusalOf()).toBeUndefined()
  })

  test('a place where no file can be made', async () => {
    expect(await refusalOf('/proc/run.db')).toContain('/proc/run.db cannot be opened')
    writeFileSync(path, '')
    expect(await refusalOf(join(path, 'run.db'))).toMatch(/folder of .* is not a folder/)
  })
})

test('a log that was cut short is taken over up to the cut, without a hole', async () => {
  const copy = join(folder, 'copy.db')
  await fill(copy)
  truncateSync(`${copy}-wal`, Math.floor(statSync(`${copy}-wal`).size * 0.7))
  const databases = createDatabases()
  const store = createSqliteRunStore(await databases.open(copy))
  const runs = await store.list('default', {})
  expect(runs.length).toBeGreaterThan(10)
  expect(runs.length).toBeLessThan(50)
  for (const { id } of runs) expect(await store.events('default', id, undefined, 99)).toEqual(eventsOf(id, 0, 20))
  await databases.close()
})

describe('migrations', () => {
  const open = () => new SqliteDatabase(path)
  const first = 'CREATE TABLE one (text); INSERT INTO one VALUES (1)'

  test('are numbered, done once, and keep what is there', () => {
    const file = open()
    migrate(file, path, [first])
    migrate(file, path, [first, 'ALTER TABLE one ADD COLUMN more'])
    migrate(file, path, [first, 'ALTER TABLE one ADD COLUMN more'])
    expect(file.pragma('user_version', { simple: true })).toBe(2)
    expect(file.prepare('SELECT * FROM one').all()).toEqual([{ text: 1, more: null }])
    file.close()
  })

  test('one that fails half-way leaves nothing and is done by the build that has it right', () => {
    const file = open()
    expect(() => migrate(file, path, [first, 'CREATE TABLE two (text); INSERT INTO nowhere VALUES (1)'])).toThrow(
      'nowhere',
    )
    expect(file.pragma('user_version', { simple: true })).toBe(1)
    expect(file.prepare('SELECT name FROM sqlite_schema').pluck().all()).toEqual(['one'])
    migrate(file, path, [first, 'CREATE TABLE two (text)'])
    expect(file.pragma('user_version', { simple: true })).toBe(2)
    file.close()
  })
})
