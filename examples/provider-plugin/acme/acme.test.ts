import { PROVIDER_ENTRIES } from 'runwright/contracts'
import { describePlugin, openPlugin } from 'runwright/testing'
import { expect, test } from 'vitest'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname })

test('the provider is where its setting says, and its alias points at its model', async () => {
  const opened = await openPlugin(plugin, { config: { base_url: 'http://127.0.0.1:9/v1' } })
  const [catalog] = opened.items(PROVIDER_ENTRIES)
  expect(catalog?.providers.acme).toMatchObject({ base_url: 'http://127.0.0.1:9/v1', aliases: { rocket: 'rocket-2' } })
  expect(Object.keys(catalog?.providers.acme?.models ?? {})).toEqual(['rocket-2'])
  await opened.close()
})
