import { expect, test } from 'vitest'
import { PROVIDER_ENTRIES } from '#contracts/ports'
import { describePlugin } from '#test/kit/describe-plugin'
import { openPlugin } from '#test/kit/open-plugin'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname })

test('fifteen providers ship', async () => {
  const opened = await openPlugin(plugin)
  const [catalog] = opened.items(PROVIDER_ENTRIES)
  expect(Object.keys(catalog?.providers ?? {})).toHaveLength(15)
  await opened.close()
})
