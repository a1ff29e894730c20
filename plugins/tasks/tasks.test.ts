import { expect, test } from 'vitest'
import { TASK_SOURCES } from '#contracts/ports'
import type { TaskSource } from '#contracts/tasks'
import { describePlugin } from '#test/kit/describe-plugin'
import { openPlugin } from '#test/kit/open-plugin'
import { plugin } from './index.js'
import { listTasks } from './task-list.js'

describePlugin(plugin, { dir: import.meta.dirname })

const nothing = (): void => undefined
const task = (id: string, type: string, at: number) => ({
  id,
  type,
  status: 'running',
  label: id,
  started_at: new Date(at).toISOString(),
  actions: ['cancel'],
})

test('tasks of every source are one list in order, with their age; a source that fails is left out', async () => {
  const warned: object[] = []
  const log = { debug: nothing, info: nothing, warn: (facts: object) => void warned.push(facts), error: nothing }
  const sources: readonly TaskSource[] = [
    { list: async tenant => (tenant === 't' ? [task('b', 'cron', 2_000), task('a', 'cron', 2_000)] : []) },
    { list: async () => [task('z', 'bash_job', 2_000), task('c', 'callback', 1_000), task('d', 'callback', 99_000)] },
    { list: async () => Promise.reject(new Error('no')) },
  ]
  const shown = (await listTasks(sources, 't', 62_900, log)).map(({ id, age_seconds }) => [id, age_seconds])
  expect(shown).toEqual([
    ['c', 61],
    ['z', 60],
    ['a', 60],
    ['b', 60],
    ['d', 0],
  ])
  expect(warned).toEqual([{ error: 'no' }])
})

test('the route shows the tasks of the caller’s tenant', async () => {
  const source: TaskSource = { list: async tenant => [task(tenant, 'bash_job', 0)] }
  const opened = await openPlugin(plugin, { ports: [[TASK_SOURCES, [source]]] })
  expect((await opened.app.inject('/v1/tasks')).json().tasks).toMatchObject([{ id: 'default', actions: ['cancel'] }])
  await opened.close()
})
