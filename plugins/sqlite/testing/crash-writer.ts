/**
 * A child process for the crash test: writes to `argv[2]` without end and prints a line for each thing that was
 * acknowledged. With `ack-early` as `argv[3]` it prints before the commit, as a broken daemon would: the harness must
 * notice that.
 */
import { randomUUID } from 'node:crypto'
import type { StoredEvent } from '#contracts/event/envelope'
import type { RunRecord } from '#contracts/run/run'
import { createDatabases } from '../databases.js'
import { createSqliteMessageStore } from '../message-store.js'
import { createSqliteRunStore } from '../run-store.js'

const [, , path = '', mode = 'honest'] = process.argv
const CLIENTS = 8
const database = await createDatabases().open(path)
const runs = createSqliteRunStore(database)
const messages = createSqliteMessageStore(database, true)

async function acknowledged(line: string, work: Promise<unknown>): Promise<void> {
  if (mode === 'ack-early') process.stdout.write(`${line}\n`)
  await work
  if (mode !== 'ack-early') process.stdout.write(`${line}\n`)
}

const events = (id: string, first: number, count: number): StoredEvent[] =>
  Array.from({ length: count }, (_, index) => ({
    seq: first + index,
    type: 'assistant.message.delta',
    data: JSON.stringify({ id: `${id}:${first + index}`, text: 'x'.repeat(200) }),
  }))

async function client(): Promise<void> {
  for (;;) {
    const id = `run_${randomUUID()}`
    // The store looks at no more than these.
    const record = { id, tenant_id: 't', conversation_id: `c-${id}`, status: 'running', prompt: 'p', request: {} }
    const run = record as unknown as RunRecord
    const hold = { runId: id, fence: 1 }
    await acknowledged(`event ${id} 0`, runs.create(run, { events: events(id, 0, 1) }, { owner: 'crash' }))
    for (let first = 1; first < 40; first += 3)
      await acknowledged(`event ${id} ${first + 2}`, runs.commit(hold, { events: events(id, first, 3) }))
    const totals = { promptTokens: 1, completionTokens: 1, costUsd: 0 }
    const said = { runId: id, messages: [{ role: 'user', content: id } as const], ...totals }
    await acknowledged(`message ${id}`, messages.append('t', run.conversation_id, said))
    await acknowledged(`settled ${id}`, runs.commit(hold, { record: { ...run, status: 'completed' } }))
  }
}

await Promise.all(Array.from({ length: CLIENTS }, client))
