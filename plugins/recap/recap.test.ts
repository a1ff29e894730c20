import { Type } from '@sinclair/typebox'
import { describe, expect, test } from 'vitest'
import type { PendingCall } from '#contracts/hooks'
import type { Recap } from '#contracts/run/run'
import type { ToolAction } from '#contracts/tool/tool'
import { describePlugin } from '#test/kit/describe-plugin'
import { type FakeRun, fakeRun } from '#test/kit/fake-run'
import { openPlugin } from '#test/kit/open-plugin'
import { plugin } from './index.js'
import { noteCall, recapOf } from './recap.js'

describePlugin(plugin, { dir: import.meta.dirname })

const call = (
  action: ToolAction,
  subject: { readonly paths?: readonly string[]; readonly text?: string },
): PendingCall => ({
  call: { id: 'c', name: action, arguments: '{}' },
  tool: {
    name: action,
    description: action,
    parameters: Type.Object({}),
    action,
    subject: () => subject,
    execute: async () => ({ output: '' }),
  },
  args: {},
  step: 1,
})
const write = (...paths: string[]) => call('write', { paths })
const bash = (text: string) => call('execute', { text })

function having(calls: readonly PendingCall[], run: FakeRun = fakeRun({ request: { prompt: ' mend it ' } })): FakeRun {
  for (const each of calls) noteCall(each, run)
  return run
}
const DONE = { kind: 'completed', output: 'ok' } as const

describe('the recap', () => {
  test('names each changed file and command once, tests among them, and how to go on', () => {
    const run = having([write('a.ts'), write('a.ts', 'b.ts'), bash('npm test'), bash('ls'), bash('npm test')])
    expect(recapOf(DONE, run)).toEqual({
      goal: 'mend it',
      changed_files: ['a.ts', 'b.ts'],
      tests_run: ['npm test'],
      failure_cause: '',
      fix_pattern: 'changed_and_tested',
      useful_commands: ['npm test', 'ls'],
      next_continuation_prompt: 'Continue run run_fake: mend it',
    })
  })

  test('leaves out what only reads', () => {
    const run = having([call('read', { paths: ['a.ts'] }), call('list', { text: 'ls' })])
    expect(recapOf(DONE, run)).toMatchObject({
      changed_files: [],
      useful_commands: [],
      fix_pattern: 'answered_without_changes',
    })
  })

  test.each([
    ['go test ./...', true],
    ['pnpm run test', true],
    ['python -m pytest -q', true],
    ['cargo test --all', true],
    ['sh regression-all.sh', true],
    ['npm run testify', false],
    ['cat latest.txt', false],
  ])('%j is a test: %s', (command, isTest) => {
    expect(recapOf(DONE, having([bash(command)])).tests_run).toEqual(isTest ? [command] : [])
  })

  test.each([
    [[], 'failed_before_changes'],
    [[write('a.ts')], 'failed_after_changes'],
  ])('of a failure says its cause and whether it left changes', (calls, fix_pattern) => {
    expect(recapOf({ kind: 'failed', error: 'no luck' }, having(calls))).toMatchObject({
      failure_cause: 'no luck',
      fix_pattern,
    })
  })

  test('is bounded, however much a run does', () => {
    const run = having(
      Array.from({ length: 500 }, (_, index) => write(`${'long'.repeat(500)}${index}`, `file${index}`)),
    )
    const { changed_files: files } = recapOf(DONE, run)
    expect(files.length).toBeLessThan(210)
    expect(Math.max(...files.map(({ length }) => length))).toBeLessThanOrEqual(500)
  })
})

test('what was noted before a restart is still in the recap after it', async () => {
  const opened = await openPlugin(plugin)
  const notes = new Map<string, unknown>()
  const durable = {
    note: (key: string) => notes.get(key),
    setNote: (key: string, value: unknown) => void notes.set(key, value),
  }
  await opened.hooks.toolStarting.promise(write('before.ts'), fakeRun(durable))
  let recap: Recap | undefined
  const resumed = fakeRun({
    ...durable,
    setRecap: made => {
      recap = made
    },
  })
  await opened.hooks.toolStarting.promise(write('after.ts'), resumed)
  await opened.hooks.runSettling.promise({ kind: 'cancelled' }, resumed)
  expect(recap?.changed_files).toEqual(['before.ts', 'after.ts'])
  await opened.close()
})
