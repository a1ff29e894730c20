import { chmod, chown, link, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PROVIDERS } from '#contracts/ports'
import { describePlugin } from '#test/kit/describe-plugin'
import { openPlugin } from '#test/kit/open-plugin'
import { createStandInProviders } from '#test/kit/stand-in-providers'
import { codex, kimi, SessionBench } from '#test/subscriptions/session-bench'
import { plugin } from './index.js'
import { readOwnFile } from './own-file.js'

describePlugin(plugin, {
  dir: import.meta.dirname,
  ports: [[PROVIDERS, createStandInProviders()]],
  config: { directory: join(tmpdir(), 'runwright-no-subscriptions'), home: tmpdir() },
})

let bench: SessionBench
beforeEach(async () => {
  bench = await SessionBench.make(plugin)
})
afterEach(() => bench.dispose())

describe('importing', () => {
  test('codex’s session is copied for the daemon alone and sent with its account', async () => {
    await bench.put(bench.codexFile, codex())
    const { importOf, credential, providers } = await bench.open()
    expect(providers.find('codex-subscription')?.isConfigured).toBe(false)
    const reply = await importOf('codex-subscription')
    expect([reply.statusCode, reply.body]).toEqual([204, ''])
    const { access_token: secret } = JSON.parse(await readFile(bench.codexFile, 'utf8')).tokens
    expect(await credential('codex-subscription')).toEqual({ secret, headers: { 'chatgpt-account-id': 'acct-1' } })
    const modes = await Promise.all([stat(bench.copyOf('codex.json')), stat(dirname(bench.copyOf('codex.json')))])
    expect(modes.map(({ mode }) => (mode & 0o777).toString(8))).toEqual(['600', '700'])
  })

  test('kimi’s session is sent with headers that say who is asking', async () => {
    await bench.put(bench.kimiFile, kimi())
    const { importOf, credential } = await bench.open({ kimi_headers: { 'x-msh-platform': 'other' } })
    expect((await importOf('kimi-subscription')).statusCode).toBe(204)
    expect(await credential('kimi-subscription')).toEqual({
      secret: 'kimi-access-1',
      headers: {
        'x-msh-platform': 'other',
        'x-msh-device-name': 'runwright',
        'x-msh-device-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
    })
  })

  test('an account the file does not name is read from a token', async () => {
    await bench.put(bench.codexFile, codex({ account_id: undefined }))
    const { importOf, credential } = await bench.open()
    await importOf('codex-subscription')
    expect((await credential('codex-subscription'))?.headers).toEqual({ 'chatgpt-account-id': 'acct-of-token' })
  })

  test('CODEX_HOME is where codex is looked for when it is set', async () => {
    await bench.put(join(bench.base, 'elsewhere', 'auth.json'), codex())
    const { importOf } = await bench.open({ codex_home: join(bench.base, 'elsewhere') })
    expect((await importOf('codex-subscription')).statusCode).toBe(204)
  })

  test('it survives a restart', async () => {
    await bench.put(bench.codexFile, codex())
    await bench.put(bench.kimiFile, kimi())
    const before = await bench.open()
    await before.importOf('codex-subscription')
    await before.importOf('kimi-subscription')
    const sent = [await before.credential('codex-subscription'), await before.credential('kimi-subscription')]
    await rm(bench.codexFile)
    await rm(bench.kimiFile)
    const after = await bench.open()
    expect([await after.credential('codex-subscription'), await after.credential('kimi-subscription')]).toEqual(sent)
    expect(after.providers.find('kimi-subscription')?.isConfigured).toBe(true)
  })

  test('importing again replaces the session, and leaves no file besides the copy', async () => {
    await bench.put(bench.kimiFile, kimi())
    const { importOf, credential } = await bench.open()
    await importOf('kimi-subscription')
    await bench.put(bench.kimiFile, kimi({ access_token: 'kimi-access-2' }))
    await importOf('kimi-subscription')
    expect((await credential('kimi-subscription'))?.secret).toBe('kimi-access-2')
    expect(await readdir(dirname(bench.copyOf('kimi.json')))).toEqual(['kimi.json'])
  })

  test('an import that fails leaves the session before in force', async () => {
    await bench.put(bench.kimiFile, kimi())
    const { importOf, credential } = await bench.open()
    await importOf('kimi-subscription')
    await bench.put(bench.kimiFile, '{}')
    expect((await importOf('kimi-subscription')).statusCode).toBe(400)
    expect((await credential('kimi-subscription'))?.secret).toBe('kimi-access-1')
  })

  test('a second name for the file is read like the first', async () => {
    await bench.put(join(bench.base, 'real.json'), kimi())
    await mkdir(dirname(bench.kimiFile), { recursive: true })
    await link(join(bench.base, 'real.json'), bench.kimiFile)
    expect((await (await bench.open()).importOf('kimi-subscription')).statusCode).toBe(204)
  })

  test('closing the plugin takes the session away from the provider', async () => {
    await bench.put(bench.kimiFile, kimi())
    const { importOf, close, providers } = await bench.open()
    await importOf('kimi-subscription')
    await close()
    expect(providers.find('kimi-subscription')?.isConfigured).toBe(false)
  })

  test('at the same time is as good as one after the other', async () => {
    await bench.put(bench.kimiFile, kimi())
    const { importOf } = await bench.open()
    const replies = await Promise.all(Array.from({ length: 10 }, () => importOf('kimi-subscription')))
    expect(new Set(replies.map(({ statusCode }) => statusCode))).toEqual(new Set([204]))
    expect(await readdir(dirname(bench.copyOf('kimi.json')))).toEqual(['kimi.json'])
  })
})

describe('what is refused', () => {
  const SECRET = 'kimi-secret-text'
  const rows: readonly (readonly [name: string, prepare: () => Promise<void>, why: string])[] = [
    ['no file', async () => undefined, 'is not there: log in with kimi'],
    ['a folder', () => mkdir(bench.kimiFile, { recursive: true }).then(() => undefined), 'is no regular file'],
    [
      'a link',
      async () => {
        await bench.put(join(bench.base, 'real.json'), kimi())
        await mkdir(dirname(bench.kimiFile), { recursive: true })
        await symlink(join(bench.base, 'real.json'), bench.kimiFile)
      },
      'is a symbolic link',
    ],
    ['a file others may write', () => bench.put(bench.kimiFile, kimi(), 0o622), 'may be written by other users'],
    ['no JSON', () => bench.put(bench.kimiFile, `${SECRET} is not JSON`), 'does not hold a JSON object'],
    ['an array', () => bench.put(bench.kimiFile, [SECRET]), 'does not hold a JSON object'],
    ['no access token', () => bench.put(bench.kimiFile, kimi({ access_token: undefined })), 'access_token is missing'],
    [
      'no refresh token',
      () => bench.put(bench.kimiFile, kimi({ refresh_token: undefined })),
      'refresh_token is missing',
    ],
    [
      'a number for a token',
      () => bench.put(bench.kimiFile, kimi({ access_token: 5 })),
      'access_token is not what it should be',
    ],
    [
      'a token that would end a header',
      () => bench.put(bench.kimiFile, kimi({ access_token: `${SECRET}\r\nx: y` })),
      'access_token is not what it should be',
    ],
    ['an odd end', () => bench.put(bench.kimiFile, kimi({ expires_at: SECRET })), 'expires_at is not a number'],
    ['a huge file', () => bench.put(bench.kimiFile, `{"a":"${'x'.repeat(300_000)}"}`), 'is larger than 262144 bytes'],
  ]

  test.each(rows)('%s', async (_, prepare, why) => {
    await prepare()
    const { importOf, providers } = await bench.open()
    const reply = await importOf('kimi-subscription')
    expect([reply.statusCode, reply.json().error.code]).toEqual([400, 'subscription_import_failed'])
    expect(reply.json().error.message).toContain('~/.kimi-code/credentials/kimi-code.json')
    expect(reply.json().error.message).toContain(why)
    expect(reply.body + bench.logged.join()).not.toMatch(new RegExp(`${SECRET}|${bench.base}`))
    expect(providers.find('kimi-subscription')?.isConfigured).toBe(false)
  })

  test.each([
    ['tokens', { OPENAI_API_KEY: 'sk-secret', tokens: null }, 'codex is not logged in with an account'],
    ['tokens.refresh_token', codex({ refresh_token: '' }), 'tokens.refresh_token is not what it should be'],
    ['tokens.account_id', codex({ account_id: undefined, id_token: 'x' }), 'tokens.account_id is missing'],
  ])('codex without %s', async (_, content, why) => {
    await bench.put(bench.codexFile, content)
    const reply = await (await bench.open()).importOf('codex-subscription')
    expect([reply.statusCode, reply.json().error.message]).toEqual([400, expect.stringContaining(why)])
    expect(reply.body).not.toContain('sk-secret')
  })

  test('a pipe in the place of the file does not make anybody wait', async () => {
    const { execFileSync } = await import('node:child_process')
    await mkdir(dirname(bench.kimiFile), { recursive: true })
    execFileSync('mkfifo', [bench.kimiFile])
    const reply = await (await bench.open()).importOf('kimi-subscription')
    expect([reply.statusCode, reply.json().error.message]).toEqual([400, expect.stringContaining('no regular file')])
  })

  test('a file of another user', async () => {
    await bench.put(bench.kimiFile, kimi())
    const own = process.getuid?.() ?? 0
    // Root's files are everybody's, so root has to give one away.
    if (own === 0) await chown(bench.kimiFile, 65_534, 65_534)
    const read = await readOwnFile(bench.kimiFile, { isPrivate: false, uid: own === 0 ? 0 : own + 1 })
    expect(read).toEqual({ kind: 'wrong', why: 'belongs to another user' })
  })

  test('a place where no copy can be kept', async () => {
    await bench.put(bench.kimiFile, kimi())
    await bench.put(join(bench.base, 'global'), 'in the way')
    const { importOf, providers } = await bench.open()
    const reply = await importOf('kimi-subscription')
    expect([reply.statusCode, reply.json().error.message]).toEqual([400, 'the session could not be kept: ENOTDIR'])
    expect(providers.find('kimi-subscription')?.isConfigured).toBe(false)
  })

  test('a link in the place of the directory of copies', async () => {
    await bench.put(bench.kimiFile, kimi())
    await mkdir(join(bench.base, 'global'))
    await mkdir(join(bench.base, 'theirs'))
    await symlink(join(bench.base, 'theirs'), join(bench.base, 'global', 'subscription-auth'))
    expect((await (await bench.open()).importOf('kimi-subscription')).statusCode).toBe(400)
    expect(await readdir(join(bench.base, 'theirs'))).toEqual([])
  })

  test.each(['openai', 'nope', 'codex', '__proto__', 'kimi-subscription%2f..'])('%s is not found', async name => {
    const reply = await (await bench.open()).importOf(name)
    expect([reply.statusCode, reply.json().error.code]).toEqual([404, 'not_found'])
  })

  test('without providers the answer is 501, and other names stay unknown', async () => {
    const one = await openPlugin(plugin, { config: { directory: bench.base, home: bench.base } })
    const ask = (name: string) => one.app.inject({ method: 'POST', url: `/v1/providers/${name}/import-subscription` })
    expect((await ask('kimi-subscription')).json().error.code).toBe('not_implemented')
    expect((await ask('kimi-subscription')).statusCode).toBe(501)
    expect((await ask('openai')).statusCode).toBe(404)
    await one.close()
  })

  test.each([
    ['open to others', (file: string) => chmod(file, 0o644)],
    ['cut', (file: string) => writeFile(file, '{"accessToken":"kimi-ac')],
    ['not a session', (file: string) => writeFile(file, '{"accessToken":"a b"}')],
  ])('a copy that is %s counts as none and is told in the log', async (_, damage) => {
    await bench.put(bench.kimiFile, kimi())
    await (await bench.open()).importOf('kimi-subscription')
    await damage(bench.copyOf('kimi.json'))
    const { providers } = await bench.open()
    expect(providers.find('kimi-subscription')?.isConfigured).toBe(false)
    expect(bench.logged.at(-1)).toMatch(/"warn".*import it again/)
    expect(bench.logged.join()).not.toContain('kimi-ac')
  })
})
