import { expect, test } from 'vitest'
import type { Message } from '#contracts/run/message'
import { describePlugin, fakeRun, openPlugin } from '#test/kit/index'
import { statusOf } from './context-status-tool.js'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname })

const TRANSCRIPT: readonly Message[] = [
  { role: 'system', content: 'so far', name: 'compact_summary', is_compact_summary: true },
  { role: 'user', content: 'ä'.repeat(9) },
  {
    role: 'assistant',
    content: '',
    tool_calls: [
      { id: 'a', name: 'ls', arguments: '{}' },
      { id: 'b', name: 'ls', arguments: '{}' },
    ],
  },
  { role: 'tool', content: '😀😀😀😀😀', tool_call_id: 'a' },
  { role: 'tool', content: '', tool_call_id: 'b' },
]

test('counts what is there and estimates tokens by characters', async () => {
  const opened = await openPlugin(plugin)
  const run = fakeRun({ transcript: TRANSCRIPT })
  expect(await opened.call('context_status', {}, { run })).toEqual({
    output: {
      estimated_context_tokens: 2 + 3 + 1 + 2 + 0,
      message_count: 5,
      tool_call_count: 2,
      tool_result_count: 2,
      user_message_count: 1,
      assistant_message_count: 1,
      system_message_count: 1,
      has_compact_summary: true,
      recommendation: 'healthy',
    },
  })
  await opened.close()
})

test.each([
  [100, 'healthy'],
  [201, 'elevated'],
  [281, 'warning'],
  [341, 'critical'],
  [5000, 'critical'],
])('%d characters in a window of 100 tokens are %s', (characters, recommendation) => {
  const transcript: Message[] = [{ role: 'user', content: 'x'.repeat(characters) }]
  expect(statusOf(transcript, 100)).toMatchObject({ recommendation, has_compact_summary: false })
})
