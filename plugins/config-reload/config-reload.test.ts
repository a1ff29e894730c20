import { expect, test } from 'vitest'
import { CONFIG_RELOAD } from '#contracts/ports'
import type { ConfigReload } from '#contracts/settings'
import { describePlugin } from '#test/kit/describe-plugin'
import { openPlugin } from '#test/kit/open-plugin'
import { standInPorts } from '#test/kit/stand-in-ports'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname, ports: standInPorts(plugin) })

async function reloadWith(config: ConfigReload | undefined) {
  const opened = await openPlugin(plugin, { ports: config ? [[CONFIG_RELOAD, config]] : [] })
  const reply = await opened.app.inject({ method: 'POST', url: '/v1/config/reload' })
  await opened.close()
  return [reply.statusCode, reply.json()]
}

test('a reload answers what was applied and what waits for a restart', async () => {
  const report = { applied: ['max_steps', 'plugins.runs'], restart_required: ['addr'] }
  expect(await reloadWith({ reload: async () => report })).toEqual([200, report])
})

test('a reload that fails answers 400 with the reason as bare text', async () => {
  const reload = async () => {
    throw new Error('config.toml:3: no such key')
  }
  expect(await reloadWith({ reload })).toEqual([400, { error: 'config.toml:3: no such key' }])
})

test('a daemon without configuration files answers 501', async () => {
  expect(await reloadWith(undefined)).toEqual([501, { error: expect.stringContaining('not enabled') }])
})
