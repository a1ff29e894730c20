import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openLiveConfig } from './live.js'

let folder: string
let configFile: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'runwright-live-'))
  configFile = join(folder, 'config.toml')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const options = () => ({ environment: {}, cwd: folder, home: folder, configFile })

test('a reload applies what is hot, keeps what needs a restart, and lists both in table order', async () => {
  await writeFile(configFile, '')
  const live = await openLiveConfig(options())
  const { daemon } = live
  expect(await live.reload()).toEqual({ applied: [], restart_required: [] })
  await writeFile(
    configFile,
    'log_level = "debug"\naddr = "127.0.0.1:9"\nmax_steps = 7\nmodel = "m"\nglobal_dir = "elsewhere"\n[memory]\ndb_driver = "postgres"\nmode = "off"\n[plugins.b]\nx = 1\n',
  )
  const report = {
    applied: ['model', 'max_steps', 'log_level', 'memory.mode', 'plugins.b'],
    restart_required: ['addr', 'global_dir', 'memory.db_driver'],
  }
  expect(await live.reload()).toEqual(report)
  expect(daemon).toMatchObject({ addr: '127.0.0.1:8080', model: 'm', logLevel: 'debug' })
  expect(live.current().settings.max_steps).toBe(7)
  expect(live.current().sourceOf('addr').layer).toBe('default')
  expect(live.current().settings.skills_dir).toBe(join(folder, '.runwright/skills'))
  expect(await live.reload()).toEqual({ applied: [], restart_required: report.restart_required })
})

test('a file that cannot be read changes nothing', async () => {
  await writeFile(configFile, 'model = "before"')
  const live = await openLiveConfig(options())
  await writeFile(configFile, 'model = ')
  await expect(live.reload()).rejects.toMatchObject({ code: 'invalid_request' })
  expect(live.daemon.model).toBe('before')
})

test('when the daemon cannot be brought in line, the old configuration is in force', async () => {
  await writeFile(configFile, 'model = "before"')
  const seen: string[] = []
  const live = await openLiveConfig(options(), ({ settings }) => {
    seen.push(settings.model)
    if (settings.model === 'bad') throw new Error('refused')
  })
  await writeFile(configFile, 'model = "bad"')
  await expect(live.reload()).rejects.toThrow('refused')
  expect(live.daemon.model).toBe('before')
  await writeFile(configFile, 'model = "good"')
  expect((await live.reload()).applied).toEqual(['model'])
  expect([seen, live.daemon.model]).toEqual([['bad', 'good'], 'good'])
})

test('reloads wait for each other', async () => {
  await writeFile(configFile, '')
  let busy = 0
  let most = 0
  const live = await openLiveConfig(options(), async () => {
    busy += 1
    most = Math.max(most, busy)
    await new Promise(setImmediate)
    busy -= 1
  })
  await Promise.all([live.reload(), live.reload(), live.reload()])
  expect(most).toBe(1)
})
