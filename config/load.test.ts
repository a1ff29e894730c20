import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isFailure, messageOf } from '#contracts/errors'
import { type LoadOptions, loadConfig } from './load.js'
import { describeProblem } from './problem.js'
import { SETTING_ROWS } from './schema.js'

let base: string
let home: string
let workspace: string

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'runwright-config-'))
  home = join(base, 'home')
  workspace = join(base, 'work')
  await mkdir(home)
  await mkdir(workspace)
})
afterEach(() => rm(base, { recursive: true, force: true }))

const write = async (path: string, text: string) => {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  return path
}
const user = (text: string) => write(join(home, '.runwright/config.toml'), text)
const project = (text: string) => write(join(workspace, '.runwright/config.toml'), text)
const load = (environment: Record<string, string> = {}, more: Partial<LoadOptions> = {}) =>
  loadConfig({ environment, cwd: workspace, home, ...more })
const failure = async (work: Promise<unknown>) =>
  work.then(
    () => 'nothing failed',
    error => (isFailure(error, 'invalid_request') ? messageOf(error) : `not invalid_request: ${messageOf(error)}`),
  )

test('what the operator keeps is hidden from agents, also where it is kept elsewhere', async () => {
  const { daemon } = await load({ SVC_GLOBAL_DIR: join(home, 'kept'), SVC_STATE_DIR: join(home, 'state') })
  expect(daemon.hiddenPaths).toEqual([join(home, 'state'), join(home, '.runwright'), join(home, 'kept')])
})

describe('layers', () => {
  test('without files and variables every setting has its default and nothing is reported', async () => {
    const loaded = await load()
    expect(loaded.problems).toEqual([])
    expect(loaded.files).toEqual([])
    expect(loaded.daemon).toEqual({
      addr: '127.0.0.1:8080',
      authDisabled: false,
      workspace,
      stateDir: join(workspace, '.runwright'),
      hiddenPaths: [join(workspace, '.runwright'), join(home, '.runwright')],
      model: 'gpt-4.1-mini',
      retryMaxAttempts: 3,
      retryMaxTotalSec: 60,
      maxConcurrentRuns: 0,
      sseKeepaliveSeconds: 15,
      watchEnabled: true,
      watchIntervalSeconds: 5,
      allowedHosts: [],
      allowedOrigins: [],
      logLevel: 'info',
    })
  })

  test('each layer wins over those below it, and the source says which one won', async () => {
    const winners: unknown[] = []
    const note = async (environment: Record<string, string> = {}, more: Partial<LoadOptions> = {}) => {
      const loaded = await load(environment, more)
      winners.push([loaded.settings.model, loaded.sourceOf('model').layer])
    }
    await note()
    await user('model = "of-user"')
    await note()
    await project('model = "of-project"')
    await note()
    await write(join(home, '.runwright/profiles/team.toml'), 'model = "of-profile"')
    await note({}, { profile: 'team' })
    const configFile = await write(join(base, 'deployed.toml'), 'model = "of-config"')
    await note({}, { profile: 'team', configFile })
    await note({ SVC_MODEL: 'of-environment' }, { profile: 'team', configFile })
    await note({ SVC_MODEL: 'of-environment' }, { profile: 'team', configFile, overrides: { model: 'of-flag' } })
    expect(winners).toEqual([
      ['gpt-4.1-mini', 'default'],
      ['of-user', 'user'],
      ['of-project', 'project'],
      ['of-profile', 'profile'],
      ['of-config', 'config'],
      ['of-environment', 'environment'],
      ['of-flag', 'command line'],
    ])
  })

  test('dotted keys and tables say the same', async () => {
    await user('cost.max_per_run_usd = 1.5\n[memory]\nobserve_min_tokens = 5\n')
    const { settings, problems } = await load()
    expect([settings['cost.max_per_run_usd'], settings['memory.observe_min_tokens'], problems]).toEqual([1.5, 5, []])
  })

  test('the project file is that of the workspace the operator chose', async () => {
    const other = join(base, 'other')
    await write(join(other, '.runwright/config.toml'), 'model = "of-other"')
    await project(`workspace = "${base}"`)
    await user(`workspace = "${other}"`)
    expect((await load()).settings).toMatchObject({ model: 'of-other', workspace: other })
    expect((await load({ SVC_WORKSPACE: workspace })).settings).toMatchObject({ model: 'gpt-4.1-mini', workspace })
  })

  test('paths come out absolute, wherever they were said', async () => {
    await user('fake_turns = "~/turns.json"\nplugin_dirs = ["own", "~/plugins"]')
    const { settings } = await load({ SVC_RUN_DB: 'runs.db', SVC_RELAY_DB: '' })
    expect(settings).toMatchObject({
      fake_turns: join(home, 'turns.json'),
      plugin_dirs: [join(workspace, 'own'), join(home, 'plugins')],
      run_db: join(workspace, 'runs.db'),
      relay_db: '',
      skills_dir: join(home, '.runwright/skills'),
      'memory.sqlite_path': join(workspace, '.runwright/state.db'),
    })
  })
})

describe('values of the wrong type', () => {
  test('every variable of the table, set to junk, is reported and keeps the layer below', async () => {
    const junk = 'junk\0[{'
    const set = SETTING_ROWS.filter(([, row]) => row.env !== undefined && row.type.type !== 'string')
    const loaded = await load(Object.fromEntries(set.map(([, row]) => [row.env, junk])))
    expect(loaded.problems.map(problem => problem.key)).toEqual(set.map(([key]) => key))
    expect(set.length).toBeGreaterThan(40)
    for (const { key } of loaded.problems) expect(loaded.sourceOf(key as 'model').layer).toBe('default')
  })

  test.each(['TRUE', 'True', '1', 'yes', 'on', ' true', 'true ', '"true"', 't'])(
    'SVC_AUTH_DISABLED=%j does not switch auth off',
    async word => {
      const { daemon, problems } = await load({ SVC_AUTH_DISABLED: word })
      expect(daemon.authDisabled).toBe(false)
      expect(problems).toEqual([
        { key: 'auth_disabled', source: 'SVC_AUTH_DISABLED', given: word, expected: 'true or false' },
      ])
    },
  )

  test('only the exact word switches auth off, and in a file only a TOML boolean', async () => {
    expect((await load({ SVC_AUTH_DISABLED: 'true' })).daemon.authDisabled).toBe(true)
    await user('auth_disabled = "true"')
    expect((await load()).daemon.authDisabled).toBe(false)
    await user('auth_disabled = true')
    expect((await load()).daemon.authDisabled).toBe(true)
    expect((await load({ SVC_AUTH_DISABLED: 'false' })).daemon.authDisabled).toBe(false)
  })

  test.each(['0', '-5', 'NaN', 'Infinity', '1e999', '15s', '0x10', ' 5', '99999999'])(
    'a keepalive of %j keeps the layer below',
    async text => {
      await user('sse_keepalive_seconds = 7')
      const { daemon, problems } = await load({ SVC_SSE_KEEPALIVE_SECONDS: text })
      expect([daemon.sseKeepaliveSeconds, problems.length]).toEqual([7, 1])
    },
  )

  test.each(['8080', '127.0.0.1', '127.0.0.1:99999', 'http://127.0.0.1:80', '127.0.0.1:80 ', '0.0.0.0:1:2', ''])(
    'an address of %j never listens anywhere but where the layer below says',
    async addr => {
      expect((await load({ SVC_ADDR: addr })).daemon.addr).toBe('127.0.0.1:8080')
    },
  )

  test.each(['127.0.0.1:0', ':8080', '[::1]:9000', 'localhost:65535', '0.0.0.0:80'])('%j is an address', async addr => {
    expect((await load({ SVC_ADDR: addr })).daemon.addr).toBe(addr)
  })

  test('lists are a JSON array or separated by commas', async () => {
    const lists = ['a:1, b:2', '["a:1","b:2"]', '', '[1]', '["a"'].map(async text => {
      const { settings, problems } = await load({ SVC_ALLOWED_HOSTS: text })
      return [settings.allowed_hosts, problems.length]
    })
    expect(await Promise.all(lists)).toEqual([
      [['a:1', 'b:2'], 0],
      [['a:1', 'b:2'], 0],
      [[], 0],
      [[], 1],
      [[], 1],
    ])
  })

  test('a secret of the wrong type is not shown', async () => {
    await user('tracker_webhook_secret = 4711')
    const { problems } = await load({ SVC_MCP_SERVERS: '[{"name":"hunter2"' })
    expect(problems.map(describeProblem).join('\n')).not.toMatch(/4711|hunter2/)
    expect(problems.map(({ key, given }) => [key, given])).toEqual([
      ['tracker_webhook_secret', '***'],
      ['mcp_servers', '***'],
    ])
  })

  test('unknown keys and slips of variables are reported with the nearest known one, without their value', async () => {
    await user('max_step = 5\n[cost]\nmax_per_run_ust = 1\n[nonsense]\nkey = "hunter2"\n')
    const { problems } = await load({ SVC_MAX_STEP: '5', SVC_OF_SOME_PLUGIN: 'x', OTHER: 'y' })
    expect(problems.map(({ key, given, expected }) => [key, given, expected])).toEqual([
      ['max_step', '(not shown)', 'a known key (did you mean max_steps?)'],
      ['cost.max_per_run_ust', '(not shown)', 'a known key (did you mean cost.max_per_run_usd?)'],
      ['nonsense', '(not shown)', 'a known key'],
      ['SVC_MAX_STEP', '(not shown)', 'a known key (did you mean SVC_MAX_STEPS?)'],
    ])
    expect(problems.slice(0, 1).map(describeProblem)).toEqual([
      `${join(home, '.runwright/config.toml')}: max_step is not a known key (did you mean max_steps?); ignored`,
    ])
  })
})

describe('a project file is written by agents too', () => {
  test('it decides nothing that guards the daemon', async () => {
    await project(`
auth_disabled = true
addr = "0.0.0.0:80"
plugin_dirs = ["evil"]
run_db = "evil.db"
state_dir = "evil"
allowed_hosts = ["evil:80"]
allowed_origins = ["http://evil"]
tracker_webhook_secret = "evil"
model_catalog_path = "evil.json"
model = "allowed"
[mcp_servers.evil]
command = "evil"
[hooks]
dirs = ["evil"]
[plugins.shell]
enabled = false
`)
    const loaded = await load()
    expect(JSON.stringify([loaded.settings, [...loaded.plugins]])).not.toContain('evil')
    expect(loaded.settings.auth_disabled).toBe(false)
    expect(loaded.isPluginEnabled('shell')).toBe(true)
    expect(loaded.settings.model).toBe('allowed')
    expect(loaded.problems).toHaveLength(12)
    expect(loaded.problems[0]?.expected).toContain('a workspace file may not decide it')
  })

  test('every setting it may touch is one that was chosen for it', () => {
    const free = SETTING_ROWS.filter(([, row]) => row.project === 'sets')
    const caps = SETTING_ROWS.filter(([, row]) => row.project === 'tightens')
    expect(free.filter(([, row]) => row.secret || row.isPath || row.reload === 'restart')).toEqual([])
    expect(caps.map(([key, row]) => [key, typeof row.tightens])).toEqual([
      ['max_steps', 'function'],
      ['cost.max_per_run_usd', 'function'],
      ['max_concurrent_runs', 'function'],
      ['tool_approval_mode', 'function'],
      ['sandbox_strict', 'function'],
    ])
  })

  test('caps and approval can only become stricter', async () => {
    await user('max_steps = 10\ntool_approval_mode = "permissions"')
    await project('max_steps = 0\ncost.max_per_run_usd = 2\ntool_approval_mode = "full_auto"')
    const loose = await load()
    await project('max_steps = 4')
    const strict = await load()
    expect(loose.settings).toMatchObject({
      max_steps: 10,
      'cost.max_per_run_usd': 2,
      tool_approval_mode: 'permissions',
    })
    expect(loose.problems.map(({ key }) => key)).toEqual(['max_steps', 'tool_approval_mode'])
    expect(strict.settings.max_steps).toBe(4)
  })

  test('a profile in the workspace has the same rights and hides no other', async () => {
    await write(join(workspace, '.runwright/profiles/loose.toml'), 'auth_disabled = true\nmodel = "of-loose"')
    await write(join(workspace, '.runwright/profiles/minimal.toml'), 'model = "hidden"')
    const loose = await load({}, { profile: 'loose' })
    expect([loose.settings.auth_disabled, loose.settings.model]).toEqual([false, 'of-loose'])
    expect((await load({}, { profile: 'minimal' })).settings.model).toBe('gpt-4.1-mini')
  })

  test('a flood of wrong keys is cut short', async () => {
    await project(Array.from({ length: 20_000 }, (_, at) => `key${at} = 1`).join('\n'))
    const { problems } = await load()
    expect(problems.length).toBeLessThan(60)
    expect(problems.at(-1)?.key).toBe('(the rest)')
  })

  test('what it says cannot steer a terminal', async () => {
    await project('model = 1\n"\\u001b[2J" = 1\nlog_level = "\\u001b[2J\\n"\n[plugins."\\u001b[2J"]\nx = 1')
    const { problems } = await load()
    expect(problems).toHaveLength(4)
    expect(problems.map(describeProblem).join('')).not.toMatch(/[\x00-\x1f]/)
  })

  test('a named pipe in its place does not hold up the start', async () => {
    await mkdir(join(workspace, '.runwright'))
    execFileSync('mkfifo', [join(workspace, '.runwright/config.toml')])
    expect(await failure(load())).toContain('config.toml is not a file')
  })
})

describe('files that cannot be used', () => {
  test('malformed TOML names file and line and repeats nothing of the text', async () => {
    const file = await user('model = "a"\nhunter2 = = 1\n')
    const message = await failure(load())
    expect(message).toContain(`${file}:2:`)
    expect(message).not.toContain('hunter2')
  })

  test('a profile that does not exist names those that do', async () => {
    await write(join(home, '.runwright/profiles/team.toml'), '')
    expect(await failure(load({}, { profile: 'tame' }))).toBe(
      'there is no profile "tame"; there are: default, minimal, team',
    )
    expect(await failure(load({}, { profile: '../config' }))).toContain('there is no profile')
  })

  test('a --config file must exist', async () => {
    expect(await failure(load({}, { configFile: 'gone.toml' }))).toContain(join(workspace, 'gone.toml'))
  })
})

describe('plugins and tool servers', () => {
  test('sections add up over the files, and the last word on enabled counts', async () => {
    await user('enabled_plugins = ["a", "b"]\n[plugins.b]\nenabled = true\nx = 1\ny = 1\n[plugins.c]\nenabled = true')
    const configFile = await write(
      join(base, 'deployed.toml'),
      '[plugins.b]\nenabled = false\ny = 2\n[plugins."D!"]\nz = 1',
    )
    const loaded = await load({}, { configFile })
    expect(loaded.plugins.get('b')).toMatchObject({ enabled: false, section: { x: 1, y: 2 } })
    expect(['a', 'b', 'c', 'd'].map(loaded.isPluginEnabled)).toEqual([true, false, true, false])
    expect(loaded.problems.map(({ key }) => key)).toEqual(['plugins.D!'])
  })

  test('tool servers of the variable and of the file are merged, and the file wins on the same name', async () => {
    await user('[mcp_servers.one]\ncommand = "of-file"\n[mcp_servers.two]\nurl = "http://two"')
    const { settings, problems } = await load({
      SVC_MCP_SERVERS: '[{"name":"one","command":"of-variable"},{"name":"three","url":"http://three"}]',
    })
    expect(problems).toEqual([])
    expect(settings.mcp_servers).toEqual([
      { name: 'one', command: 'of-file' },
      { name: 'three', url: 'http://three' },
      { name: 'two', url: 'http://two' },
    ])
  })
})
