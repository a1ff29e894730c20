import { describePlugin, openPlugin } from 'runwright/testing'
import { describe, expect, test } from 'vitest'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname })

describe('working_days', () => {
  test.each([
    ['2026-12-21', '2026-12-27', { output: { working_days: 4 } }],
    ['2026-12-26', '2026-12-27', { output: { working_days: 0 } }],
    ['2026-12-22', '2026-12-21', { error: 'the last day lies before the first; swap them' }],
    ['2026-02-30', '2026-03-01', { error: '"2026-02-30" is not a date of the form YYYY-MM-DD' }],
    ['0001-01-01', '9999-01-01', { error: 'the dates are more than a hundred years apart' }],
  ])('from %s to %s', async (from, to, result) => {
    const opened = await openPlugin(plugin, { config: { holidays: ['2026-12-25'] } })
    expect(await opened.call('working_days', { from, to })).toEqual(result)
    await opened.close()
  })
})
