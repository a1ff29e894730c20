import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Message } from './message.js'
import { estimateTokens, transcriptTokens } from './token-estimate.js'

test('four characters are a token, whatever their width', () => {
  expect(['', 'a', 'abcd', 'abcde', '👍👍👍👍', '👍👍👍👍a'].map(estimateTokens)).toEqual([0, 1, 1, 2, 1, 2])
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => estimateTokens(text) === Math.ceil(Array.from(text).length / 4)),
  )
})

test('messages are rounded one by one, and arguments of calls count', () => {
  const messages: Message[] = [
    { role: 'user', content: 'abcde' },
    { role: 'assistant', content: 'a', tool_calls: [{ id: '1', name: 'ls', arguments: '{"path":"."}' }] },
  ]
  expect(transcriptTokens(messages)).toBe(2 + 4)
})
