import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Scope } from '#contracts/identity'
import { createApiKey } from '#kernel/auth/api-key'
import { plugin as sqlite } from '../plugins/sqlite/index.js'
import { startWaiting } from './approval/race.js'
import { type Booted, boot, createClient } from './kit/boot.js'
import { writeScriptedPlugin } from './kit/scripted-plugin.js'

let dir = ''
let daemon: Booted
const tokens: Record<string, string> = {}
const prefixes: Record<string, string> = {}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'runwright-tenancy-'))
  await writeScriptedPlugin(join(dir, 'plugins'))
  const keys = await sqlite.openKeys?.(join(dir, 'runs.db'))
  const add = async (name: string, tenant_id: string, scopes: readonly Scope[]): Promise<void> => {
    const { text, prefix, digest } = createApiKey()
    await keys?.add({ prefix, digest, tenant_id, name, scopes, created_at: '2026-01-01T00:00:00Z' })
    tokens[name] = text
    prefixes[name] = prefix
  }
  await add('owner', 'acme', ['runs:write'])
  await add('colleague', 'acme', ['runs:write'])
  await add('reader', 'acme', ['runs:read'])
  await add('stranger', 'other', ['admin'])
  await keys?.close()
  daemon = await boot({ dir, isDurable: true, hasAuth: true, settings: { plugin_dirs: [join(dir, 'plugins')] } })
})
afterAll(async () => {
  await daemon.stop()
  await rm(dir, { recursive: true, force: true })
})

const as = (name: string) => createClient(daemon.url, tokens[name])

test('another tenant neither sees nor answers what waits, and a reader may look but not answer', async () => {
  const owner = as('owner')
  const id = await startWaiting(owner, 1)
  const { body: checkpoint } = await as('reader').request('GET', `/v1/runs/${id}/checkpoint`)
  expect(checkpoint).toMatchObject({ kind: 'approval', status: 'pending' })
  const answers = ['approve', 'deny'].map(verb => ['POST', `/v1/runs/${id}/${verb}`])
  const resume = ['POST', `/v1/checkpoints/${checkpoint.id}/resume`]
  const reads = [`/v1/runs/${id}/checkpoint`, `/v1/checkpoints/${checkpoint.id}`].map(path => ['GET', path])
  const statuses = async (name: string, requests: readonly (readonly string[])[]) =>
    Promise.all(
      requests.map(async ([method = '', path = '']) => {
        const reply = await as(name).request(method, path, method === 'POST' ? {} : undefined)
        return reply.status
      }),
    )
  expect(await statuses('stranger', [...answers, resume, ...reads])).toEqual([404, 404, 404, 404, 404])
  expect(await statuses('reader', [...answers, resume, ...reads])).toEqual([403, 403, 403, 200, 200])
  expect((await owner.request('POST', `/v1/runs/${id}/approve`)).status).toBe(200)
  expect((await owner.events(id)).at(-1)?.payload?.output).toBe('["pulled 1"]')
})

test('the log names the key that decided, never more of it than its public part', async () => {
  const colleague = as('colleague')
  const logOf = async (answer: (id: string) => Promise<{ readonly status: number }>) => {
    const id = await startWaiting(as('owner'), 1)
    expect((await answer(id)).status).toBe(200)
    const events = await colleague.events(id)
    expect(JSON.stringify(events)).not.toContain(tokens.colleague?.slice(prefixes.colleague?.length))
    return events.filter(({ type }) => /^tool\.approval_(granted|denied)$/.test(type)).map(({ payload }) => payload)
  }
  const by = { decided_by: prefixes.colleague }
  expect(await logOf(id => colleague.request('POST', `/v1/runs/${id}/approve`))).toMatchObject([by])
  expect(await logOf(id => colleague.request('POST', `/v1/runs/${id}/deny`, { message: 'no' }))).toMatchObject([
    { ...by, message: 'no' },
  ])
  const resumed = await logOf(async id => {
    const { body } = await colleague.request('GET', `/v1/runs/${id}/checkpoint`)
    return colleague.request('POST', `/v1/checkpoints/${body.id}/resume`)
  })
  expect(resumed).toMatchObject([{ ...by, reason: 'resumed' }])
})
