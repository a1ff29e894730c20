import { expect, test } from 'vitest'
import { SseReader } from './sse-reader.js'

const SAMPLE = '\uFEFF: comment\nevent: x\ndata: one\ndata:two\n\nid: 7\ndata: 🎈\n\n\ndata\ndata: last ü\n\n'
const EVENTS = ['one\ntwo', '🎈', 'last ü']

function read(pieces: readonly Buffer[]): string[] {
  const events: string[] = []
  const reader = new SseReader(data => events.push(data) > 0, 1000)
  for (const piece of pieces) reader.push(piece)
  reader.end()
  return events
}

test.each([
  ['LF', '\n'],
  ['CR LF', '\r\n'],
  ['CR', '\r'],
])('events are the same wherever the bytes are cut in two or three (%s)', (_, lineEnd) => {
  const bytes = Buffer.from(SAMPLE.replaceAll('\n', lineEnd))
  for (let first = 0; first <= bytes.length; first++)
    for (const second of [first, first + 1, first + 2, bytes.length])
      expect(read([bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)])).toEqual(EVENTS)
})

test('an event whose blank line never came is handed out at the end', () => {
  expect(read([Buffer.from('data: a\n\ndata: b')])).toEqual(['a', 'b'])
})

test('a reader that was told to stop hands out no more', () => {
  const events: string[] = []
  new SseReader(data => events.push(data) > 1, 1000).push(Buffer.from('data: a\n\ndata: b\n\n'))
  expect(events).toEqual(['a'])
})

test('a line in a hundred thousand pieces is read in linear time, and one without end is not kept', () => {
  const events: string[] = []
  const reader = new SseReader(data => events.push(data) > 0, 200_000)
  reader.push(Buffer.from('data: '))
  for (let piece = 0; piece < 100_000; piece++) reader.push(Buffer.from('x'))
  reader.push(Buffer.from('\n\n'))
  expect(events).toEqual(['x'.repeat(100_000)])
  for (let piece = 0; piece < 300_000; piece++) reader.push(Buffer.from('y'))
  expect(reader.isOverflowing).toBe(true)
})
