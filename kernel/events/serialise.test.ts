import fc from 'fast-check'
import { expect, test } from 'vitest'
import { frameOf, serialiseEvent } from './serialise.js'

const AT = '2026-01-01T00:00:00.000Z'
const run = { id: 'run_1', conversationId: 'talk', step: 2 }

test('the three fields are injected, the number 1 among them', () => {
  const event = serialiseEvent(run, 3, 'run.queued', { prompt: 'x' }, AT)
  expect(JSON.parse(event.data)).toEqual({
    id: 'run_1:3',
    run_id: 'run_1',
    type: 'run.queued',
    timestamp: AT,
    payload: { prompt: 'x', schema_version: 1, conversation_id: 'talk', step: 2 },
  })
})

test('an emitter’s own step and conversation stay', () => {
  const { data } = serialiseEvent(run, 0, 'conversation.continued', { step: 7, conversation_id: 'other' }, AT)
  expect(JSON.parse(data).payload).toEqual({ step: 7, conversation_id: 'other', schema_version: 1 })
})

test('an empty payload carries just the three', () => {
  expect(JSON.parse(serialiseEvent(run, 0, 'run.cancelled', {}, AT).data).payload).toEqual({
    schema_version: 1,
    conversation_id: 'talk',
    step: 2,
  })
})

test('whatever a payload or a conversation id holds, the frame is four lines and reads back', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (content, conversationId) => {
      const event = serialiseEvent({ ...run, conversationId }, 0, 'assistant.message', { content }, AT)
      const frame = frameOf('run_1', event)
      expect(frame.split(/\r\n|[\r\n\u2028\u2029]/)).toHaveLength(6)
      const data = frame.split('\n')[3]?.slice('data: '.length) ?? ''
      expect(JSON.parse(data).payload).toMatchObject({ content, conversation_id: conversationId })
    }),
  )
})
