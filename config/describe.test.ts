import { existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parse } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { renderDeployment } from './deployment.js'
import { renderSettings, settingsTable, showSettings } from './describe.js'
import { layFile, startLayers } from './layer.js'
import { loadConfig } from './load.js'
import { SETTING_ROWS } from './schema.js'
import { fits } from './value.js'

const root = resolve(import.meta.dirname, '../..')
const fromRoot = (file: string) => readFileSync(join(root, file), 'utf8')

test('every default has its own type, and no two settings share a variable', () => {
  expect(SETTING_ROWS.filter(([, row]) => !fits(row.type, row.default)).map(([key]) => key)).toEqual([])
  const variables = SETTING_ROWS.flatMap(([, row]) => row.env ?? [])
  expect(new Set(variables).size).toBe(variables.length)
})

test('the table of settings has one row each, and the README shows it as it is', () => {
  expect(settingsTable().trimEnd().split('\n')).toHaveLength(SETTING_ROWS.length + 2)
  const readme = 'before <!-- settings --> old <!-- /settings --> after'
  expect(renderSettings(readme)).toBe(`before <!-- settings -->\n\n${settingsTable()}\n<!-- /settings --> after`)
  expect(renderSettings(renderSettings(readme))).toBe(renderSettings(readme))
  if (existsSync(join(root, 'README.md'))) expect(fromRoot('README.md')).toBe(renderSettings(fromRoot('README.md')))
})

test('what is shown names the source and no secret', async () => {
  const loaded = await loadConfig({
    environment: { CHAT_SIGNING_SECRET: 'hunter2', SVC_MODEL: 'm', SVC_MCP_SERVERS: '[{"name":"hunter2"}]' },
    cwd: tmpdir(),
    home: join(tmpdir(), 'nobody'),
  })
  const plugins = new Map([
    ['a', { enabled: false, section: { api_key: 'hunter2', size: 1, x: { y: 'hunter2' } }, files: ['f'] }],
  ])
  const rows = showSettings({ ...loaded, plugins })
  expect(JSON.stringify(rows)).not.toContain('hunter2')
  expect(rows).toContainEqual({ key: 'model', value: 'm', source: 'SVC_MODEL' })
  expect(rows).toContainEqual({ key: 'chat_signing_secret', value: '***', source: 'CHAT_SIGNING_SECRET' })
  expect(rows).toContainEqual({ key: 'plugins.a.size', value: '1', source: 'f' })
})

describe('deployment files', () => {
  const lay = (text: string) => {
    const layers = startLayers()
    layFile(layers, parse(text), { layer: 'config', name: 'test' }, true)
    return layers
  }

  test('default.toml begins with every setting as it is today', () => {
    expect(fromRoot('config/default.toml').startsWith(renderDeployment())).toBe(true)
  })

  test('default.toml with every comment taken away says the defaults', () => {
    const layers = lay(renderDeployment().replaceAll(/^#(?! )/gm, ''))
    expect(layers.problems).toEqual([])
    expect([...layers.sources].filter(([, { layer }]) => layer === 'default')).toEqual([])
    expect(layers.values).toEqual(startLayers().values)
  })

  test.each(['default', 'minimal'])('%s is taken without a complaint', name => {
    expect(lay(fromRoot(`config/${name}.toml`)).problems).toEqual([])
  })
})
