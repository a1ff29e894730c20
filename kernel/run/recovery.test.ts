import { expect, test } from 'vitest'
import type { Message } from '#contracts/run/message'
import type { JournalEntry } from '#contracts/store/run-store'
import { recover, unansweredCalls } from './recovery.js'
import { moveTo } from './states.js'

const call = (id: string) => ({ id, name: 'write', arguments: '{}' })
const asks = (...ids: string[]): Message => ({ role: 'assistant', content: '', tool_calls: ids.map(call) })
const result = (id: string): Message => ({ role: 'tool', tool_call_id: id, content: 'ok' })
const message = (step: number, each: Message): JournalEntry => ({ kind: 'message', step, message: each })

test('a journal gives back messages, the last answered step, intents, and the last word of each note', () => {
  const journal: JournalEntry[] = [
    message(0, { role: 'user', content: 'go' }),
    message(1, asks('a')),
    { kind: 'intent', step: 1, call_id: 'a' },
    { kind: 'note', key: 'k', value: 1 },
    { kind: 'note', key: 'k', value: 2 },
    message(2, { role: 'user', content: 'hint', is_meta: true }),
  ]
  expect(recover(journal)).toEqual({
    own: [{ role: 'user', content: 'go' }, asks('a'), { role: 'user', content: 'hint', is_meta: true }],
    isRewritten: false,
    notes: [['k', 2]],
    step: 1,
    intended: new Set(['a']),
  })
})

test('a rewrite replaces what came before it', () => {
  const summary: Message = { role: 'system', content: 'so far', is_compact_summary: true }
  const journal: JournalEntry[] = [
    message(1, asks('a')),
    { kind: 'rewrite', step: 1, messages: [summary] },
    message(2, asks('b')),
  ]
  expect(recover(journal)).toMatchObject({ own: [summary, asks('b')], isRewritten: true, step: 2 })
})

test.each([
  ['none when nothing was asked', [{ role: 'user', content: 'go' }] as Message[], []],
  ['all of a turn whose tools never ran', [asks('a', 'b')], ['a', 'b']],
  ['those without a result', [asks('a', 'b', 'c'), result('b')], ['a', 'c']],
  ['none when all were answered', [asks('a'), result('a')], []],
  ['only of the last turn', [asks('a'), asks('b')], ['b']],
  ['none after the user spoke again', [asks('a'), { role: 'user', content: 'stop' }] as Message[], []],
])('unanswered calls: %s', (_, transcript, ids) => {
  expect(unansweredCalls(transcript).map(({ id }) => id)).toEqual(ids)
})

test('a settled run goes nowhere', () => {
  expect(() => moveTo('completed', 'running')).toThrow('cannot go from completed to running')
  expect(moveTo('queued', 'cancelled')).toBe('cancelled')
})
