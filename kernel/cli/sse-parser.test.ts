import { expect, test } from 'vitest'
import { createSseParser } from './sse-parser.js'

const TEXT =
  ': ping\n\nid: 1\nretry: 3000\nevent: x\ndata: {"a":"ü 日本"}\n\ndata: one\r\ndata:two\r\n\r\ndata\rdata:  three\r\rdatax: no\n\nid: 9\n\ndata: half'
const FRAMES = ['{"a":"ü 日本"}', 'one\ntwo', '\n three']

test('frames are the same, whatever the pieces they come in', () => {
  for (let size = 1; size <= TEXT.length; size += 1) {
    const got: string[] = []
    const parser = createSseParser(data => got.push(data), 1000)
    for (let at = 0; at < TEXT.length; at += size) parser.feed(TEXT.slice(at, at + size))
    expect({ size, got }).toEqual({ size, got: FRAMES })
  }
})

test('a frame that never ends is refused before it fills the memory', () => {
  const parser = createSseParser(() => undefined, 1000)
  expect(() => {
    for (let piece = 0; piece < 100; piece += 1) parser.feed(`data: ${'x'.repeat(40)}\n`)
  }).toThrow('an event is larger than 1000 characters')
})
