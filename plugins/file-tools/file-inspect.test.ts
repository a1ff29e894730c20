import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestBench, type TestBench } from './test-bench.js'

let bench: TestBench
beforeAll(async () => {
  bench = await openTestBench()
})
afterAll(() => bench.close())

test('tells what a text file is and shows its first lines', async () => {
  bench.put('src/a.ts', 'one\r\ntwo\nä\n')
  expect(await bench.call('file_inspect', { file_path: 'src/a.ts', preview_lines: 2 })).toEqual({
    path: 'src/a.ts',
    size_bytes: 12,
    size_human: '12 B',
    mime_type: 'text/typescript',
    encoding: 'utf-8',
    extension: 'ts',
    preview: 'one\ntwo',
    preview_lines: 2,
    line_count: 3,
    truncated: true,
  })
})

test.each([
  ['empty', '', { encoding: 'empty', mime_type: 'text/plain', extension: '', line_count: 0 }],
  ['.env', 'A=1', { encoding: 'ascii', extension: '', preview: 'A=1', truncated: false }],
  ['bom.json', '\ufeff{}', { encoding: 'utf-8-bom', mime_type: 'application/json' }],
  ['wide', Buffer.from('\ufeffhi\n', 'utf16le'), { encoding: 'utf-16le', preview: 'hi' }],
  ['fake.txt', Buffer.from('\x89PNG\r\n\x1a\n\0\0', 'latin1'), { encoding: 'binary', mime_type: 'image/png' }],
  ['latin.txt', Buffer.from([0x67, 0xfc]), { encoding: 'binary', mime_type: 'application/octet-stream' }],
  ['cut', `${'x'.repeat(65_535)}ä`, { encoding: 'utf-8', truncated: true }],
])('%s', async (name, content, expected) => {
  bench.put(name, content)
  expect(await bench.call('file_inspect', { path: name })).toMatchObject(expected)
})

test('shows bytes of a binary file as a hex dump of the wanted length', async () => {
  bench.put('b.bin', Buffer.from([0, 1, 0x41, 0x7f, ...Array(40).fill(0xff)]))
  const { hex_preview } = await bench.call('file_inspect', { path: 'b.bin', hex_bytes: 18 })
  expect(hex_preview.split('\n')).toEqual([
    '00000000  00 01 41 7f ff ff ff ff ff ff ff ff ff ff ff ff  ..A.............',
    `00000010  ff ff${' '.repeat(42)}  ..`,
  ])
})

test('a file of any size costs one look, and what may not be read stays unread', async () => {
  execFileSync('truncate', ['-s', '3G', join(bench.root, 'huge')])
  execFileSync('mkfifo', [join(bench.root, 'pipe')])
  expect(await bench.call('file_inspect', { path: 'huge' })).toMatchObject({ size_human: '3.0 GB', encoding: 'binary' })
  for (const path of ['../outside/secret', '/etc/passwd', 'pipe', 'none', '.'])
    expect(await bench.call('file_inspect', { path })).toMatchObject({ error: { code: expect.any(String) } })
})
