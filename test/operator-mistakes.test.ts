import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { boot } from './kit/boot.js'
import { runCommand, serveCommand } from './kit/cli-process.js'

let dir: string
const undos: (() => Promise<unknown>)[] = []
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'runwright-mistakes-'))
})
afterEach(async () => {
  for (const undo of undos.splice(0).reverse()) await undo()
  await rm(dir, { recursive: true })
})

const start = (argv: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  runCommand(argv, { cwd: dir, environment: { HOME: dir, ...more } })

describe('a daemon that cannot start says so in one line, before anything is opened', () => {
  test.each([
    [['--addr', 'nonsense'], {}, 'the listen address "nonsense" is not of the form host:port, as in 127.0.0.1:8080'],
    [[], { SVC_PLUGIN_DIRS: '/nope:/nor-this' }, 'no such file or directory, scandir', 'are separated by commas'],
    [['--profile', 'nope'], {}, 'there is no profile "nope"; there are: default, minimal'],
  ])('%j %j', async (argv, environment, ...says) => {
    const { code, out, err } = await start(['serve', ...argv], environment)
    expect({ code, out, lines: err.split('\n').length }).toEqual({ code: 1, out: '', lines: 2 })
    for (const text of ['runwright: ', ...says]) expect(err).toContain(text)
  })
})

describe('a plugin that is configured and not there', () => {
  const STRAY = 'plugins.shel is not an installed plugin (did you mean plugins.shell?); ignored'
  const UNKNOWN = 'enabled_plugins: sqlit is not an installed plugin (did you mean sqlite?); ignored'
  const write = () =>
    writeFile(
      join(dir, 'team.toml'),
      'enabled_plugins = ["runs", "sqlit"]\n[plugins.shel]\nx = 1\n[plugins.shell]\nenabled = false\n',
    )

  test('is named by config show', async () => {
    await write()
    const { code, err } = await start(['config', 'show', '--config', 'team.toml'])
    expect({ code, said: err.split('\n').map(line => line.replace(/^! \S+: /, '')) }).toEqual({
      code: 0,
      said: [STRAY, UNKNOWN, ''],
    })
  })

  test('is named in the log of a start, and of a reload', async () => {
    await write()
    const { url, log, stop } = await serveCommand(['--config', 'team.toml', '--addr', '127.0.0.1:0'], {
      cwd: dir,
      environment: { HOME: dir, SVC_ENABLED_PLUGINS: 'runs,config-reload' },
    })
    undos.push(stop)
    expect([log().includes(STRAY), log().includes('sqlit')]).toEqual([true, false])
    await writeFile(join(dir, 'team.toml'), '[plugins.shellfish]\nx = 1\n')
    expect((await fetch(`${url}/v1/config/reload`, { method: 'POST' })).status).toBe(200)
    await expect.poll(log).toContain('plugins.shellfish is not an installed plugin')
  })

  test('is none where it lies in a directory of plugins', async () => {
    await writeFile(
      join(dir, 'index.js'),
      `import { Type } from '@sinclair/typebox'
      import { definePlugin } from 'runwright/contracts'
      export const plugin = definePlugin({ name: 'mine', config: Type.Object({}), register() {} })`,
    )
    await writeFile(join(dir, 'team.toml'), `plugin_dirs = ["${dir}"]\n[plugins.${dir.split('/').at(-1)}]\nx = 1\n`)
    const { err } = await start(['config', 'show', '--config', 'team.toml'])
    expect(err).not.toContain('not an installed plugin')
  })
})

test('a setting of a plugin in another spelling is ignored, and the log says how it is spelled', async () => {
  await writeFile(join(dir, 'team.toml'), '[plugins.questions]\ntimeoutSeconds = 5\n')
  const { log, stop } = await serveCommand(['--config', 'team.toml', '--addr', '127.0.0.1:0'], {
    cwd: dir,
    environment: { HOME: dir },
  })
  undos.push(stop)
  expect(log()).toContain(
    'plugins.questions.timeoutSeconds is not a known key (did you mean plugins.questions.timeout_seconds?); ignored',
  )
})

test('what is wrong in the configuration is said once each time it is read, not at every look at the plugins', async () => {
  const configFile = join(dir, 'team.toml')
  await writeFile(configFile, '[plugins.questions]\ntimeoutSeconds = 5\n')
  const { daemon, logged, stop } = await boot({ dir, configFile })
  undos.push(stop)
  const said = () => logged.filter(({ key }) => key === 'plugins.questions.timeoutSeconds').length
  await daemon.sync()
  const looked = said()
  await daemon.config.reload()
  expect([looked, said()]).toEqual([1, 2])
})

test('a folder that is not there is no plugin', async () => {
  expect(await start(['plugin', 'check', 'nowhere'])).toEqual({
    code: 1,
    out: '',
    err: `runwright: there is no folder ${join(dir, 'nowhere')}\n`,
  })
})

test('listing or ending keys of a database that is not there makes none', async () => {
  const file = join(dir, 'runs.db')
  for (const argv of [['list'], ['revoke', '12345678']])
    expect(await start(['keys', ...argv, '--db', file])).toEqual({
      code: 1,
      out: '',
      err: `runwright: there is no run database ${file}; check SVC_RUN_DB or --db\n`,
    })
  expect(await readdir(dir)).toEqual([])
  const made = await start(['keys', 'create', '--tenant', 't', '--scope', 'admin', '--db', file])
  const listed = await start(['keys', 'list', '--db', file])
  expect([made.code, listed.out.includes(made.out.slice(0, 8))]).toEqual([0, true])
})
