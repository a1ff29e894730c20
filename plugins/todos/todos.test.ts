import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RECORDS, RUNS } from '#contracts/ports'
import { createMemoryRecords } from '#kernel/storage/memory-records'
import { type Booted, boot } from '#test/kit/boot'
import { describePlugin, fakeRun, openPlugin } from '#test/kit/index'
import { plugin } from './index.js'
import { replaced, updated, without } from './todo-list.js'

describePlugin(plugin, {
  dir: import.meta.dirname,
  ports: [
    [RUNS, {}],
    [RECORDS, createMemoryRecords()],
  ],
})

test('items without an id get the first free one', () => {
  expect(replaced([{ text: 'a' }, { id: '1', text: 'b', status: 'completed' }, { text: 'c' }])).toEqual([
    { id: '2', text: 'a', status: 'pending' },
    { id: '1', text: 'b', status: 'completed' },
    { id: '3', text: 'c', status: 'pending' },
  ])
})

test('an update changes what it names and nothing else, a deletion removes one', () => {
  const list = replaced([{ text: 'a' }, { text: 'b' }])
  expect(updated(list, '2', { status: 'in_progress' })[1]).toEqual({ id: '2', text: 'b', status: 'in_progress' })
  expect(without(list, '1').map(({ id }) => id)).toEqual(['2'])
  expect(() => without(list, '9')).toThrow('id: there is no todo "9"; there are "1", "2"')
})

test('models write ids as numbers and texts as content; what there is is named in short', async () => {
  const opened = await openPlugin(plugin, {
    ports: [
      [RUNS, {}],
      [RECORDS, createMemoryRecords()],
    ],
  })
  const call = (args: object) => opened.call('todos', args, { run: fakeRun() })
  const todos = [{ id: 7, content: 'look' }, ...Array.from({ length: 300 }, (_, index) => ({ text: `${index}` }))]
  expect(await call({ action: 'set', todos })).toMatchObject({
    output: { todos: expect.arrayContaining([{ id: '7', text: 'look', status: 'pending' }]) },
  })
  expect(await call({ action: 'update', id: 7, content: 'see', status: 'completed' })).toMatchObject({
    output: { todos: expect.arrayContaining([{ id: '7', text: 'see', status: 'completed' }]) },
  })
  const { error } = (await call({ action: 'delete', id: 'none' })) as { error: string }
  expect(error).toMatch(/there are "7", "1", .* and 281 more$/)
  await opened.close()
})

describe('over HTTP', () => {
  let booted: Booted
  const call = (id: string, args: object) => ({ tool_calls: [{ id, name: 'todos', arguments: args }] })
  beforeEach(async () => {
    booted = await boot({
      turns: [
        call('c1', { action: 'set', todos: [{ text: 'look' }, { text: 'build', status: 'in_progress' }] }),
        call('c2', { action: 'update', id: '1', status: 'completed' }),
        call('c3', { action: 'update', id: '1', status: 'blocked' }),
        call('c4', { action: 'delete', id: '7' }),
        call('c5', { action: 'set' }),
        { content: 'done' },
      ],
    })
  })
  afterEach(() => booted.stop())

  test('what the model keeps is what callers read, also after the end, and what they put replaces it', async () => {
    const events = await booted.run('go')
    const id = events[0]!.run_id
    const results = events.filter(({ type }) => type === 'tool.call.completed').map(({ payload }) => payload)
    expect(JSON.parse(results[1]?.output)).toMatchObject({ run_id: id, todos: [{ status: 'completed' }, {}] })
    expect(results.slice(2).map(each => each?.error)).toEqual([
      'status: must be one of pending, in_progress, completed',
      'id: there is no todo "7"; there are "1", "2"',
      'set needs todos: the whole new list',
    ])
    expect((await booted.request('GET', `/v1/runs/${id}/todos`)).body).toEqual({
      run_id: id,
      todos: [
        { id: '1', text: 'look', status: 'completed' },
        { id: '2', text: 'build', status: 'in_progress' },
      ],
    })
    const put = await booted.request('PUT', `/v1/runs/${id}/todos`, { todos: [{ id: 'x', text: 'rest' }] })
    const after = { run_id: id, todos: [{ id: 'x', text: 'rest', status: 'pending' }] }
    expect([put.status, put.body]).toEqual([200, after])
    expect((await booted.request('GET', `/v1/runs/${id}/todos`)).body).toEqual(after)
    expect((await booted.request('PUT', `/v1/runs/${id}/todos`, { todos: [] })).body.todos).toEqual([])
  })

  test.each([
    [{}, 'todos'],
    [{ todos: 'all' }, 'todos'],
    [{ todos: [{ id: '1' }] }, 'todos[0].text'],
    [{ todos: [{ text: ' ' }] }, 'todos[0].text: must say something'],
    [{ todos: [{ text: 'a', status: 'blocked' }] }, 'todos[0].status: must be one of pending, in_progress, completed'],
    [{ todos: [{ text: 'a', status: 3 }] }, 'todos[0].status'],
    [
      {
        todos: [
          { id: 'x', text: 'a' },
          { id: 'x', text: 'b' },
        ],
      },
      'todos[1].id: "x" is there twice',
    ],
    [{ todos: Array.from({ length: 501 }, () => ({ text: 'a' })) }, 'todos'],
  ])('%j is refused, naming %s', async (body, named) => {
    const id = await booted.start('go')
    const reply = await booted.request('PUT', `/v1/runs/${id}/todos`, body)
    expect([reply.status, reply.body.error.code]).toEqual([400, 'invalid_request'])
    expect(reply.body.error.message).toContain(named)
  })

  test('an unknown run has no list', async () => {
    const replies = await Promise.all([
      booted.request('GET', '/v1/runs/run_x/todos'),
      booted.request('PUT', '/v1/runs/run_x/todos', { todos: [] }),
    ])
    expect(replies.map(({ status, body }) => [status, body.error.code])).toEqual([
      [404, 'not_found'],
      [404, 'not_found'],
    ])
  })

  test('a list can be emptied', async () => {
    const id = (await booted.run('go'))[0]?.run_id
    await booted.request('PUT', `/v1/runs/${id}/todos`, { todos: [] })
    expect((await booted.request('GET', `/v1/runs/${id}/todos`)).body).toEqual({ run_id: id, todos: [] })
  })
})

test('with a run database a list outlives the daemon', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'runwright-todos-'))
  const first = await boot({ dir, isDurable: true })
  const id = (await first.run('go'))[0]!.run_id
  await first.request('PUT', `/v1/runs/${id}/todos`, { todos: [{ text: 'kept' }] })
  await first.stop()
  const second = await boot({ dir, isDurable: true })
  expect((await second.request('GET', `/v1/runs/${id}/todos`)).body.todos).toEqual([
    { id: '1', text: 'kept', status: 'pending' },
  ])
  await second.stop()
  await rm(dir, { recursive: true, force: true })
})
