import { expect, test } from 'vitest'
import { Failure } from '#contracts/errors'
import { createHookTable } from '#contracts/hooks'
import type { RunRecord } from '#contracts/run/run'
import type { Letter, RunChange, RunStore } from '#contracts/store/run-store'
import { EventHub } from '../events/hub.js'
import { createMemoryRunStore } from '../storage/memory-run-store.js'
import { NO_PROGRESS } from './ledger.js'
import { LiveRun } from './live-run.js'

const silent = (): void => undefined
const at = new Date(0).toISOString()
const RECORD: RunRecord = {
  id: 'run_1',
  prompt: 'go',
  model: 'm',
  status: 'running',
  tenant_id: 'default',
  conversation_id: 'run_1',
  agent_id: 'default',
  usage_totals: { prompt_tokens_total: 0, completion_tokens_total: 0, total_tokens: 0, last_turn_tokens: 0 },
  cost_totals: { cost_usd_total: 0, last_turn_cost_usd: 0, cost_status: 'pending' },
  created_at: at,
  updated_at: at,
  request: { prompt: 'go' },
  policy: {
    sandbox: 'workspace',
    approval: 'none',
    toolApproval: 'full_auto',
    network: 'allow',
    rules: [],
    unattended: 'wait',
    deniedTools: [],
  },
  progress: NO_PROGRESS,
}

async function begin(change: (store: RunStore) => Partial<RunStore> = () => ({})) {
  const memory = createMemoryRunStore()
  const store: RunStore = { ...memory, ...change(memory) }
  await store.create(RECORD, { events: [] }, { owner: 'me' })
  const run = new LiveRun({
    record: RECORD,
    fence: 1,
    store,
    hooks: createHookTable(),
    tools: new Map(),
    hub: new EventHub(),
    log: { debug: silent, info: silent, warn: silent, error: silent },
    workspace: { root: '/', extraDirs: [] },
    nextSeq: 0,
  })
  const post = async (body: string): Promise<void> => {
    await store.post('default', RECORD.id, { kind: 'steer', body })
    run.pokeLetters()
  }
  return { run, store, post }
}

test('letters that are taken go in the commit that brings their messages', async () => {
  const changes: RunChange[] = []
  const { run, post } = await begin(memory => ({
    commit: (hold, change) => {
      changes.push(change)
      return memory.commit(hold, change)
    },
  }))
  await post('one')
  await post('two')
  // Something is being written all the while, as in a run that streams.
  run.emit('run.step.started', { step: 1, step_start_ms: 0 })
  const letters = await run.takeLetters('steer')
  run.addMessages(letters.map(({ body }) => ({ role: 'user', content: String(body) })))
  await run.durable()
  const consuming = changes.filter(({ consumed }) => consumed !== undefined)
  expect(consuming.map(({ consumed, journal }) => [consumed?.length, journal?.length])).toEqual([[2, 2]])
})

test('a letter that is posted while the mailbox is being read is found the next time', async () => {
  let whileReading: (() => Promise<void>) | undefined
  const { run, post } = await begin(memory => ({
    letters: async (id): Promise<readonly Letter[]> => {
      const letters = await memory.letters(id)
      const post = whileReading
      whileReading = undefined
      await post?.()
      return letters
    },
  }))
  whileReading = () => post('late')
  run.pokeLetters()
  const [first, second] = [await run.takeLetters('steer'), await run.takeLetters('steer')]
  expect([first.length, second.map(({ body }) => body)]).toEqual([0, ['late']])
})

/** The first calls are refused as a busy database refuses them. */
function refusing<A extends readonly unknown[], T>(count: number, work: (...args: A) => Promise<T>) {
  let left = count
  return async (...args: A): Promise<T> => {
    if (left-- > 0) throw new Failure('store_unavailable', 'the database cannot be read: busy')
    return work(...args)
  }
}

test('a mailbox that cannot be read for a moment is read again: no letter is lost and the run goes on', async () => {
  const { run, post } = await begin(memory => ({ letters: refusing(2, id => memory.letters(id)) }))
  await post('hello')
  expect((await run.takeLetters('steer')).map(({ body }) => body)).toEqual(['hello'])
})

test('a run that waits gets its answer, and its deadline, over a store that cannot answer for a moment', async () => {
  const { run, store } = await begin(memory => ({
    letters: refusing(1, id => memory.letters(id)),
    post: refusing(1, (tenant, id, letter) => memory.post(tenant, id, letter)),
  }))
  const late = await run.wait({ status: 'waiting_for_user', kind: 'answer', key: 'a', deadlineAt: store.now() })
  const answered = run.wait({ status: 'waiting_for_user', kind: 'answer', key: 'b' })
  await store.post('default', RECORD.id, { kind: 'answer', key: 'b', body: 'yes' })
  run.pokeLetters()
  expect([late.kind, (await answered).kind]).toEqual(['timed_out', 'answered'])
})

test('a run that is interrupted while its mailbox cannot be read gives up, and loses no letter by it', async () => {
  const { run, post } = await begin(memory => ({
    letters: async id => {
      run.interrupt('stopping')
      return refusing(isDown ? 1 : 0, () => memory.letters(id))()
    },
  }))
  let isDown = true
  await post('hello')
  await expect(run.takeLetters('steer')).rejects.toThrow('run stopping')
  isDown = false
  expect(await run.takeLetters('steer')).toHaveLength(1)
})
