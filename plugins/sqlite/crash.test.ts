import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import SqliteDatabase from 'better-sqlite3'
import { expect, test } from 'vitest'
import { createDatabases } from './databases.js'
import { createSqliteMessageStore } from './message-store.js'
import { createSqliteRunStore } from './run-store.js'

const WRITER = new URL('./testing/crash-writer.js', import.meta.url).pathname
const KILLS = 10

/** Starts a writer, kills it at a random moment under load and returns every line it had acknowledged. */
async function killedWriter(path: string, mode: string, random: () => number): Promise<string[]> {
  const child = spawn(process.execPath, [WRITER, path, mode], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', chunk => {
    text += chunk
  })
  const closed = once(child, 'close')
  await Promise.race([once(child.stdout, 'data'), closed])
  await delay(5 + random() * 150)
  child.kill('SIGKILL')
  await closed
  // What comes after the last line break was never told.
  return text.split('\n').slice(0, -1)
}

/** Everything acknowledged that is not there, and everything that is there and should not be. */
async function faultsIn(path: string, acknowledged: readonly string[]): Promise<string[]> {
  const databases = createDatabases()
  const database = await databases.open(path)
  const runs = createSqliteRunStore(database)
  const messages = createSqliteMessageStore(database, true)
  const faults: string[] = []
  const logs = new Map<string, number>()
  for (const line of acknowledged) {
    const [kind = '', id = '', seq] = line.split(' ')
    if (kind === 'event') logs.set(id, Number(seq))
    if (kind === 'message' && (await messages.load('t', `c-${id}`))?.messages[0]?.content !== id)
      faults.push(`lost: ${line}`)
    if (kind === 'settled' && (await runs.read('t', id))?.status !== 'completed') faults.push(`lost: ${line}`)
  }
  for (const [id, last] of logs) {
    const events = await runs.events('t', id, undefined, 1_000)
    if (events.length <= last) faults.push(`lost: ${last + 1 - events.length} events of ${id}`)
    const isWhole = events.every(({ seq, data }, index) => seq === index && JSON.parse(data).id === `${id}:${index}`)
    if (!isWhole) faults.push(`hole or altered event in ${id}`)
  }
  await databases.close()
  const file = new SqliteDatabase(path, { readonly: true })
  const integrity = file.pragma('integrity_check', { simple: true })
  if (integrity !== 'ok') faults.push(`integrity: ${String(integrity)}`)
  file.close()
  return faults
}

async function withFile(work: (path: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'runwright-crash-'))
  await work(join(folder, 'run.db')).finally(() => rm(folder, { recursive: true }))
}

function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

test('nothing acknowledged is lost, altered or left with a hole by a kill at any moment', async () => {
  const seed = Date.now() >>> 0
  const random = randomFrom(seed)
  await withFile(async path => {
    const acknowledged: string[] = []
    for (let kill = 0; kill < KILLS; kill += 1) {
      const told = await killedWriter(path, 'honest', random)
      acknowledged.push(...told)
      expect({ seed, kill, faults: await faultsIn(path, told) }).toEqual({ seed, kill, faults: [] })
    }
    expect({ seed, faults: await faultsIn(path, acknowledged) }).toEqual({ seed, faults: [] })
    expect(acknowledged.length).toBeGreaterThan(KILLS)
    console.log(`seed ${seed}: ${KILLS} kills, ${acknowledged.length} acknowledged, none lost`)
  })
}, 60_000)

test('the harness notices a writer that acknowledges before the commit', async () => {
  await withFile(async path => {
    const random = randomFrom(1)
    const faults: string[] = []
    for (let kill = 0; kill < KILLS && faults.length === 0; kill += 1)
      faults.push(...(await faultsIn(path, await killedWriter(path, 'ack-early', random))))
    expect(faults.some(fault => fault.startsWith('lost:'))).toBe(true)
  })
}, 60_000)
