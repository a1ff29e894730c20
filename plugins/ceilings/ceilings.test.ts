import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AuthBench, bootWithAuth } from '#test/auth/auth-bench'
import { boot } from '#test/kit/boot'
import { describePlugin } from '#test/kit/describe-plugin'
import { standInPorts } from '#test/kit/stand-in-ports'
import { ceilingFor, readCeilings } from './ceilings.js'
import type { CeilingsConfig } from './config.js'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname, ports: standInPorts(plugin) })

const CONFIG: CeilingsConfig = { workspace: '/w', default: {}, tenants: {}, keys: {} }

describe('which ceiling applies', () => {
  const ceilings = readCeilings({
    ...CONFIG,
    default: { max_steps: 9 },
    tenants: { acme: { max_sandbox: 'local', max_steps: 50 } },
    keys: { key00001: { max_sandbox: 'unrestricted' } },
  })
  const shipped = { max_sandbox: 'workspace', roots: [], stdio_servers: false, max_steps: 9 }

  test.each([
    ['a key without admin: the default', 'other', 'key99999', ['runs:write'], shipped],
    ['a key with admin: none', 'other', 'key99999', ['admin'], {}],
    ['auth off: none', 'default', undefined, 'all', {}],
    [
      'a tenant: its own over the default',
      'acme',
      'key99999',
      ['runs:write'],
      { ...shipped, max_sandbox: 'local', max_steps: 50 },
    ],
    ['a tenant with admin: its own alone', 'acme', 'key99999', ['admin'], { max_sandbox: 'local', max_steps: 50 }],
    ['a key: its own over the tenant', 'acme', 'key00001', ['admin'], { max_sandbox: 'unrestricted', max_steps: 50 }],
  ] as const)('%s', (_, tenantId, keyPrefix, scopes, expected) => {
    expect(ceilingFor({ tenantId, scopes, ...(keyPrefix && { keyPrefix }) }, ceilings)).toEqual(expected)
  })
})

describe('a section that cannot be understood is refused, never skipped', () => {
  test.each([
    [{ defualt: {} }, 'plugins.ceilings.defualt: no such key'],
    [{ default: { max_sandbox: 'locl' } }, 'plugins.ceilings.default.max_sandbox: must be one of workspace, local'],
    [{ default: { network: true } }, 'plugins.ceilings.default.network'],
    [{ default: { roots: ['relative'] } }, 'plugins.ceilings.default.roots'],
    [{ default: { stdio: true } }, 'plugins.ceilings.default.stdio: no such key'],
    [{ tenants: { acme: { max_steps: -1 } } }, 'plugins.ceilings.tenants.acme.max_steps'],
    [{ tenants: { acme: 'none' } }, 'plugins.ceilings.tenants.acme: must be a table'],
    [{ keys: { abc: { max_cost_usd: '5' } } }, 'plugins.ceilings.keys.abc.max_cost_usd'],
  ])('%j', (wrong, message) => {
    expect(() => readCeilings({ ...CONFIG, ...wrong })).toThrow(message)
  })

  test('the daemon does not start with it', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'ceilings-'))
    const configFile = join(dir, 'config.toml')
    writeFileSync(configFile, '[plugins.ceilings.tenants.acme]\nmax_sandbox = "locl"\n')
    await expect(boot({ configFile }).then(live => live.stop())).rejects.toThrow('tenants.acme.max_sandbox')
    rmSync(dir, { recursive: true })
  })
})

describe('over HTTP', () => {
  let live: AuthBench
  let dir = ''
  const keys: Record<string, string> = {}

  beforeAll(async () => {
    dir = realpathSync(mkdtempSync(join(tmpdir(), 'ceilings-')))
    for (const name of ['acme/repo', 'other']) mkdirSync(join(dir, name), { recursive: true })
    symlinkSync(join(dir, 'other'), join(dir, 'acme/way-out'))
    symlinkSync(join(dir, 'acme/repo'), join(dir, 'acme/link'))
    const configFile = join(dir, 'config.toml')
    writeFileSync(
      configFile,
      `[plugins.ceilings.tenants.acme]\nmax_sandbox = "local"\nnetwork = "deny"\nroots = ["${dir}/acme"]\nmax_steps = 5\nmax_cost_usd = 2.5\n`,
    )
    live = await bootWithAuth({ configFile })
    for (const tenant of ['acme', 'plain'])
      for (const scope of ['runs:write', 'admin'] as const)
        keys[`${tenant} ${scope}`] = await live.addKey({ tenant_id: tenant, scopes: [scope] })
  })
  afterAll(async () => {
    await live.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  const ask = (key: string, draft: object) =>
    live.as(keys[key] ?? '').request('POST', '/v1/runs', { prompt: 'hi', ...draft })
  const REPO = () => ({ workspace_path: join(dir, 'acme/repo') })

  test.each([
    ['plain runs:write', { permissions: { sandbox: 'local' } }, 'permissions.sandbox', 'at most workspace'],
    ['plain runs:write', { permissions: { sandbox: 'unrestricted' } }, 'permissions.sandbox', 'at most workspace'],
    ['plain runs:write', { workspace_path: '/' }, 'workspace_path', 'not below an allowed directory'],
    ['plain runs:write', { extra_dirs: ['/etc'] }, 'extra_dirs[0]', 'not below an allowed directory'],
    ['acme admin', { permissions: { sandbox: 'unrestricted' } }, 'permissions.sandbox', 'at most local'],
    ['acme admin', { permissions: { network: 'allow' } }, 'permissions.network', 'only deny'],
    ['acme runs:write', { max_steps: 6 }, 'max_steps', 'at most 5'],
    ['acme runs:write', { max_cost_usd: 2.6 }, 'max_cost_usd', 'at most 2.5'],
  ])('%s asking %j is refused', async (key, draft, field, limit) => {
    const reply = await ask(key, key.startsWith('acme') ? { ...REPO(), ...draft } : draft)
    expect([reply.status, reply.body.error.code]).toEqual([403, 'forbidden'])
    expect(reply.body.error.message).toMatch(new RegExp(`^${field.replace(/[[\].]/g, '\\$&')}: .*${limit}`))
  })

  test.each([
    ['a run that names no directory', {}, 'workspace_path: must be given here'],
    ['a directory outside', { workspace_path: () => join(dir, 'other') }, 'workspace_path: '],
    ['a link that leads outside', { workspace_path: () => join(dir, 'acme/way-out') }, 'workspace_path: '],
    ['a way up', { workspace_path: () => `${dir}/acme/../other` }, 'workspace_path: '],
    ['a sibling of the same beginning', { workspace_path: () => dir }, 'workspace_path: '],
  ])(
    'of the allowed roots: %s is refused',
    async (_, { workspace_path: path }: { workspace_path?: () => string }, message) => {
      const reply = await ask('acme runs:write', path ? { workspace_path: path() } : {})
      expect([reply.status, reply.body.error.message]).toEqual([403, expect.stringContaining(message)])
    },
  )

  test('what is allowed runs; what was left open is filled in and links are resolved', async () => {
    const client = live.as(keys['acme runs:write'] ?? '')
    const draft = { prompt: 'hi', workspace_path: join(dir, 'acme/link'), permissions: { sandbox: 'local' } }
    const reply = await client.request('POST', '/v1/runs', draft)
    expect(reply.status).toBe(202)
    await client.events(reply.body.run_id)
    expect(await live.daemon.runs.read('acme', reply.body.run_id)).toMatchObject({
      status: 'completed',
      policy: { sandbox: 'local', network: 'deny' },
      request: { workspace_path: join(dir, 'acme/repo'), max_steps: 5, max_cost_usd: 2.5 },
    })
  })

  test('a key with admin whose tenant is not named asks for everything', async () => {
    const draft = { workspace_path: '/', permissions: { sandbox: 'unrestricted' } }
    expect((await ask('plain admin', draft)).status).toBe(202)
  })

  test('continuing bounds the one who continues', async () => {
    const started = await ask('plain admin', { permissions: { sandbox: 'unrestricted' } })
    const run = await live.daemon.runs.settled('plain', started.body.run_id, AbortSignal.timeout(10_000))
    const write = { tenantId: 'plain', keyPrefix: 'other000', scopes: ['runs:write'] } as const
    await expect(
      live.daemon.runs.start({ ...run?.request, prompt: 'more' }, write, { previousRunId: started.body.run_id }),
    ).rejects.toThrow('permissions.sandbox')
  })
})

describe('whoever tells a run what to do borrows its reach', () => {
  const options = ['a', 'b'].map(label => ({ label, description: label }))
  const questions = [{ question: 'q?', header: 'q', options }]
  const ask = { tool_calls: [{ name: 'AskUserQuestion', arguments: { questions } }] }
  const list = { tool_calls: [{ name: 'ls', arguments: {} }] }

  test.each([
    [
      'a question',
      ask,
      'run.waiting_for_user',
      [
        ['steer', { prompt: 'x' }, 202],
        ['input', { answers: { 'q?': 'a' } }, 202],
      ],
    ],
    ['an approval', list, 'tool.approval_required', [['approve', {}, 200]]],
    ['a refusal with words', list, 'tool.approval_required', [['deny', { message: 'do this' }, 200]]],
  ] as const)(
    '%s: of a run above the ceiling not for a key below it; of any other run it is',
    async (_, turn, waiting, ways) => {
      const done = { content: 'done' }
      const live = await bootWithAuth({ turns: [turn, turn, done, done, done] })
      try {
        const admin = live.as(await live.addKey({ tenant_id: 'plain', scopes: ['admin'] }))
        const writer = live.as(await live.addKey({ tenant_id: 'plain', scopes: ['runs:write'] }))
        const start = async (sandbox: string): Promise<string> => {
          const permissions = { sandbox, approval: turn === list ? 'all' : 'none' }
          const id = await admin.start({ prompt: 'p', permissions })
          await admin.until(id, waiting)
          return id
        }
        const [far, near] = [await start('unrestricted'), await start('workspace')]
        const { body: checkpoint } = await admin.request('GET', `/v1/runs/${far}/checkpoint`)
        const refused = {
          status: 403,
          body: { error: { code: 'forbidden', message: expect.stringContaining('unrestricted is above the ceiling') } },
        }
        expect(await writer.request('POST', `/v1/checkpoints/${checkpoint.id}/resume`)).toMatchObject(refused)
        for (const [verb, body, status] of ways) {
          expect(await writer.request('POST', `/v1/runs/${far}/${verb}`, body)).toMatchObject(refused)
          expect(await writer.request('POST', `/v1/runs/${near}/${verb}`, body)).toMatchObject({ status })
          expect(await admin.request('POST', `/v1/runs/${far}/${verb}`, body)).toMatchObject({ status })
        }
        expect((await writer.request('POST', `/v1/runs/${far}/cancel`)).status).toBe(200)
      } finally {
        await live.stop()
      }
    },
  )
})
