import { expect, test } from 'vitest'
import { createLog } from './log.js'
import { maskUrl } from './mask-url.js'

const KEY = `rwabcdef_${'A'.repeat(43)}_qrstuv`

test.each([
  [`/v1/runs?token=${KEY}`, '/v1/runs?token=***'],
  ['/v1/runs?a=1&token=x%20y&b=2', '/v1/runs?a=1&token=***&b=2'],
  ['/v1/runs?TOKEN=x', '/v1/runs?TOKEN=***'],
  ['/v1/runs?%74oken=x', '/v1/runs?%74oken=***'],
  ['/v1/runs?tokens=x', '/v1/runs?tokens=x'],
  [`a key ${KEY} in a text`, 'a key rwabcdef_*** in a text'],
])('%s is written as %s', (url, masked) => {
  expect(maskUrl(url)).toBe(masked)
})

test('whatever a line holds, no key and no Authorization header gets into it', () => {
  const lines: string[] = []
  const log = createLog('debug', line => lines.push(line))
  const url = `/v1/runs?token=${KEY}`
  log.info({ url, req: { headers: { authorization: `Bearer ${KEY}` } } }, `asked for ${url}`)
  log.error({ plugin: 'echo', err: new Error(`no ${KEY}`), authorization: KEY }, 'failed')
  log.debug({ deep: { deeper: { deepest: `x&token=${KEY}"` } } }, 'x')
  expect(lines).toHaveLength(3)
  expect(lines.join('')).not.toContain('AAAA')
  expect(lines.join('')).not.toContain('authorization')
  expect(lines.map(line => JSON.parse(line))).toMatchObject([
    { level: 'info', url: '/v1/runs?token=***' },
    { plugin: 'echo' },
    {},
  ])
})

test('a level above a line drops it', () => {
  const lines: string[] = []
  createLog('warn', line => lines.push(line)).info({}, 'quiet')
  expect(lines).toEqual([])
})
