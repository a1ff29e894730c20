import { expect, test } from 'vitest'
import type { Message } from '../run/message.js'
import { titleOf } from './conversation-title.js'

const user = (content: string, over: Partial<Message> = {}): Message => ({ role: 'user', content, ...over })
const long = 'word '.repeat(40)

test.each<[string, string | undefined]>([
  ['Fix the test', 'Fix the test'],
  ['Fix the test. Then tell me.', 'Fix the test.'],
  ['Does v1.2 work? Or not', 'Does v1.2 work?'],
  ['\n  second line counts\nnot this', 'second line counts'],
  [long, `${long.slice(0, 80)}…`],
  [`${'x'.repeat(79)}. more`, `${'x'.repeat(79)}.`],
  [`${'x'.repeat(79)}.more`, `${'x'.repeat(79)}.…`],
  [`${'x'.repeat(80)}. more`, `${'x'.repeat(80)}…`],
  ['\u{1f600}'.repeat(80), '\u{1f600}'.repeat(80)],
  ['\u{1f600}'.repeat(81), `${'\u{1f600}'.repeat(80)}…`],
  ['   \n ', undefined],
])('the title of %j is %j', (content, title) => {
  expect(titleOf([user(content)])).toBe(title)
})

test('only words of the user that are not hidden make a title', () => {
  const messages = [user('hidden', { is_meta: true }), { role: 'assistant', content: 'no' } as const, user('yes')]
  expect(titleOf(messages)).toBe('yes')
  expect(titleOf(messages.slice(0, 2))).toBeUndefined()
})

test('a line of many megabytes is cheap', () => {
  expect(titleOf([user('. '.repeat(5_000_000))])).toBe('.')
})
