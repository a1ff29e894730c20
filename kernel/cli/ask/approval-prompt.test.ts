import { expect, test } from 'vitest'
import { approvalScreen } from './approval-prompt.js'

const request = (args: object) => ({ callId: 'c', tool: 'write', argumentsText: JSON.stringify(args) })

test('what does not fit a screen is left out visibly, and shown when asked for', () => {
  const lines = Array.from({ length: 60 }, (_, index) => `line ${index}`)
  const screen = approvalScreen(request({ path: 'a', content: lines.join('\n') }), false)
  expect(screen).toContain('  … 22 more lines; v shows them')
  expect(screen).not.toContain('line 59')
  expect(approvalScreen(request({ path: 'a', content: lines.join('\n') }), true)).toContain('line 59')
})

test('so is the rest of a line that would fill the screen alone', () => {
  const long = `${'x'.repeat(100_000)}; rm -rf .`
  const screen = approvalScreen(request({ command: long, path: 'a' }), false)
  expect(screen.length).toBeLessThan(2000)
  expect(screen).toMatch(/│ command: x+ … 99\d{3} more characters; v shows them\n {2}│ path: a\n/)
  expect(approvalScreen(request({ command: long }), true)).toContain(`${long}\n`)
})
