import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Type } from '@sinclair/typebox'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadConfig } from './load.js'
import { configurePlugin } from './plugin-config.js'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'runwright-plugin-config-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const manifest = {
  name: 'acme',
  config: Type.Object({
    model: Type.String({ setting: 'model' }),
    key: Type.String({ default: '', env: 'ACME_KEY', secret: true }),
    limit: Type.Integer({ minimum: 1, default: 3, env: 'ACME_LIMIT' }),
    tags: Type.Array(Type.String(), { default: [], env: 'ACME_TAGS' }),
    mode: Type.Union([Type.Literal('fast'), Type.Literal('slow')], { default: 'fast', env: 'ACME_MODE' }),
    nested: Type.Optional(Type.Object({ deep: Type.Optional(Type.Boolean({ env: 'ACME_DEEP' })) })),
  }),
}

async function configure(file: string, environment: Record<string, string> = {}) {
  const configFile = join(folder, 'config.toml')
  await writeFile(configFile, file)
  return configurePlugin(await loadConfig({ environment, cwd: folder, home: folder, configFile }), manifest)
}

test('a setting fills a property, the section wins over it, and a variable over both', async () => {
  const of = async (file: string, environment = {}) => (await configure(file, environment)).raw
  expect(await of('model = "m"')).toEqual({ model: 'm' })
  expect(await of('model = "m"\n[plugins.acme]\nmodel = "own"\nlimit = 4')).toEqual({ model: 'own', limit: 4 })
  expect(
    await of('[plugins.acme]\nlimit = 4\nmode = "fast"', {
      ACME_KEY: 'k',
      ACME_LIMIT: '9',
      ACME_TAGS: 'a,b',
      ACME_MODE: 'slow',
      ACME_DEEP: 'true',
    }),
  ).toEqual({ model: 'gpt-4.1-mini', key: 'k', limit: 9, tags: ['a', 'b'], mode: 'slow', nested: { deep: true } })
})

test('a value of the wrong type is reported and the layer below keeps its say', async () => {
  const { raw, problems } = await configure('[plugins.acme]\nlimit = 4\nkey = 1\nmode = "off"\nlimits = 2', {
    ACME_LIMIT: '0',
    ACME_MODE: 'medium',
    ACME_DEEP: '1',
    ACME_TAGS: '',
  })
  expect(raw).toEqual({ model: 'gpt-4.1-mini', limit: 4 })
  expect(problems.map(({ key, given, expected }) => [key, given, expected])).toEqual([
    ['plugins.acme.key', '***', 'text'],
    ['plugins.acme.limit', '0', 'a whole number, minimum 1'],
    ['plugins.acme.mode', 'off', '"fast" or "slow"'],
    ['plugins.acme.mode', 'medium', '"fast" or "slow"'],
    ['plugins.acme.nested.deep', '1', 'true or false'],
    ['plugins.acme.limits', '(not shown)', 'a known key (did you mean plugins.acme.limit?)'],
  ])
})

test('a setting nobody knows, or of another type, is reported as a fault of the schema', async () => {
  const loaded = await loadConfig({ environment: {}, cwd: folder, home: folder })
  const config = Type.Object({ a: Type.String({ setting: 'modell' }), b: Type.Number({ setting: 'model' }) })
  const { raw, problems } = configurePlugin(loaded, { name: 'acme', config })
  expect(raw).toEqual({})
  expect(problems.map(({ key, expected }) => [key, expected])).toEqual([
    ['modell', 'a known key (did you mean model?)'],
    ['plugins.acme.b', 'a number'],
  ])
})
