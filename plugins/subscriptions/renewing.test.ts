import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Failure, isFailure } from '#contracts/errors'
import { startModelServer } from '#test/kit/model-server'
import { codex, jwt, kimi, SessionBench, seconds } from '#test/subscriptions/session-bench'
import { plugin } from './index.js'
import { PrivateCopies } from './private-copy.js'
import { createTokenSource, type LiveSession } from './token-source.js'
import { vendorsOf } from './vendors.js'

const SIGNAL = new AbortController().signal

let bench: SessionBench
beforeEach(async () => {
  bench = await SessionBench.make(plugin)
})
afterEach(() => bench.dispose())

describe('renewing', () => {
  const stale = { expires_at: seconds(29) }

  test('a token that ends within 30 seconds is renewed by the refresh grant, and the new refresh token is kept', async () => {
    const { calls } = await bench.serveTokens()
    await bench.put(bench.kimiFile, kimi(stale))
    const { importOf, credential } = await bench.open()
    await importOf('kimi-subscription')
    expect((await credential('kimi-subscription'))?.secret).toBe('fresh-0')
    expect((await credential('kimi-subscription'))?.secret).toBe('fresh-0')
    expect(calls).toHaveLength(1)
    expect([calls[0]?.headers['content-type'], Object.fromEntries(new URLSearchParams(calls[0]?.bodyText))]).toEqual([
      'application/x-www-form-urlencoded',
      {
        grant_type: 'refresh_token',
        client_id: '17e5f671-d194-4dfb-9706-5516cb48c098',
        refresh_token: 'kimi-refresh-1',
      },
    ])
    expect(JSON.parse(await readFile(bench.copyOf('kimi.json'), 'utf8'))).toMatchObject({
      accessToken: 'fresh-0',
      refreshToken: 'next-0',
    })
    expect((await stat(bench.copyOf('kimi.json'))).mode & 0o777).toBe(0o600)
  })

  test('a token that lasts longer is used as it is', async () => {
    const { calls } = await bench.serveTokens()
    await bench.put(bench.kimiFile, kimi({ expires_at: seconds(40) }))
    const { importOf, credential } = await bench.open()
    await importOf('kimi-subscription')
    expect([(await credential('kimi-subscription'))?.secret, calls.length]).toEqual(['kimi-access-1', 0])
  })

  test('codex’s token tells itself when it ends, and a refresh token that is not replaced stays', async () => {
    const { calls } = await bench.serveTokens(() => [200, { access_token: jwt({ exp: seconds(3600), n: 1 }) }])
    await bench.put(bench.codexFile, codex({ access_token: jwt({ exp: seconds(-5) }) }))
    const { importOf, credential } = await bench.open()
    await importOf('codex-subscription')
    expect(await credential('codex-subscription')).toEqual({
      secret: expect.stringMatching(/^eyJ/),
      headers: { 'chatgpt-account-id': 'acct-1' },
    })
    await credential('codex-subscription')
    expect(calls).toHaveLength(1)
    expect(JSON.parse(await readFile(bench.copyOf('codex.json'), 'utf8')).refreshToken).toBe('codex-refresh-1')
  })

  test('many requests at once renew once, and each rotated token is used for the next time', async () => {
    const used: (string | null)[] = []
    await bench.serveTokens((form, index) => {
      used.push(form.get('refresh_token'))
      return [200, { access_token: `fresh-${index}`, refresh_token: `next-${index}`, expires_in: 1 }]
    })
    await bench.put(bench.kimiFile, kimi(stale))
    const { importOf, credential } = await bench.open()
    await importOf('kimi-subscription')
    const all = await Promise.all(Array.from({ length: 20 }, () => credential('kimi-subscription')))
    expect(new Set(all.map(one => one?.secret))).toEqual(new Set(['fresh-0']))
    await credential('kimi-subscription')
    expect(used).toEqual(['kimi-refresh-1', 'next-0'])
  })

  test('a session the vendor refuses is over: it says to import again and the vendor is not asked again', async () => {
    const { calls } = await bench.serveTokens(() => [
      400,
      { error: 'invalid_grant', error_description: 'kimi-refresh-1' },
    ])
    await bench.put(bench.kimiFile, kimi({ expires_at: seconds(-1) }))
    const { importOf, credential } = await bench.open()
    await importOf('kimi-subscription')
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const error = await credential('kimi-subscription').catch((thrown: unknown) => thrown)
      expect(isFailure(error, 'not_configured')).toBe(true)
      expect((error as Error).message).toMatch(
        /kimi-subscription: its session is over .*Log in with kimi .*POST \/v1\/providers\/kimi-subscription\/import-subscription/,
      )
      expect((error as Error).message).not.toContain('kimi-refresh')
    }
    expect(calls).toHaveLength(1)
    expect(bench.logged.join()).not.toContain('kimi-refresh')
    await bench.put(bench.kimiFile, kimi({ access_token: 'kimi-access-2' }))
    await importOf('kimi-subscription')
    expect((await credential('kimi-subscription'))?.secret).toBe('kimi-access-2')
  })

  test('a refused session is used to its end, without asking the vendor again', async () => {
    const { calls } = await bench.serveTokens(() => [401, {}])
    await bench.put(bench.kimiFile, kimi(stale))
    const { importOf, credential } = await bench.open()
    await importOf('kimi-subscription')
    const used = [await credential('kimi-subscription'), await credential('kimi-subscription')]
    expect([used.map(one => one?.secret), calls.length]).toEqual([['kimi-access-1', 'kimi-access-1'], 1])
  })

  test.each([
    ['an error of the vendor', [503, 'busy'] as const, /answered 503/],
    ['an answer that is no session', [200, { access_token: 'a b' }] as const, /no session/],
    ['an answer that is no JSON', [200, '<html>'] as const, /no session/],
    ['an endless answer', [200, 'x'.repeat(1_000_000)] as const, /no session/],
  ])('%s leaves a token that is still good, and then says so', async (_, answer, why) => {
    await bench.serveTokens(() => answer)
    await bench.put(bench.kimiFile, kimi(stale))
    const { importOf, credential } = await bench.open()
    await importOf('kimi-subscription')
    expect((await credential('kimi-subscription'))?.secret).toBe('kimi-access-1')
    await bench.put(bench.kimiFile, kimi({ expires_at: seconds(-1) }))
    await importOf('kimi-subscription')
    const error = await credential('kimi-subscription').catch((thrown: unknown) => thrown)
    expect([isFailure(error, 'upstream_error'), (error as Error).message]).toEqual([true, expect.stringMatching(why)])
  })

  test('a vendor that cannot be reached is named with its reason', async () => {
    await bench.put(bench.kimiFile, kimi({ expires_at: seconds(-1) }))
    const { importOf, credential } = await bench.open()
    await importOf('kimi-subscription')
    await expect(credential('kimi-subscription')).rejects.toThrow(
      /127\.0\.0\.1:9 could not be asked: .*(ECONNREFUSED|bad port)/,
    )
  })

  test('a token endpoint that redirects gets nothing followed', async () => {
    const elsewhere = await startModelServer((_, response) => void response.end('{}'))
    bench.server = await startModelServer((_, response) => {
      response.writeHead(307, { location: `${elsewhere.origin}/token` })
      response.end()
    })
    await bench.put(bench.kimiFile, kimi({ expires_at: seconds(-1) }))
    const { importOf, credential } = await bench.open()
    await importOf('kimi-subscription')
    await expect(credential('kimi-subscription')).rejects.toThrow(/could not be asked/)
    expect(elsewhere.calls).toEqual([])
    await elsewhere.close()
  })

  test('who leaves does not end the renewal for the others', async () => {
    let answer = (): void => undefined
    bench.server = await startModelServer(async (_, response) => {
      await new Promise<void>(resolve => {
        answer = resolve
      })
      response.end(JSON.stringify({ access_token: 'fresh', expires_in: 900 }))
    })
    await bench.put(bench.kimiFile, kimi(stale))
    const { importOf, providers } = await bench.open()
    await importOf('kimi-subscription')
    const leaving = new AbortController()
    const first = Promise.resolve(providers.credentialOf('kimi-subscription')?.(leaving.signal))
    const second = Promise.resolve(providers.credentialOf('kimi-subscription')?.(SIGNAL))
    await bench.server.call(0)
    leaving.abort()
    await expect(first).rejects.toThrow()
    answer()
    expect((await second)?.secret).toBe('fresh')
  })
})

describe('one session, several hands', () => {
  const vendor = () =>
    vendorsOf(
      {
        directory: '',
        home: '',
        codex_home: '',
        codex_token_url: 'http://127.0.0.1:9',
        kimi_token_url: `${bench.server?.origin}/token`,
        kimi_headers: {},
      },
      bench.base,
    )[1]!
  const session = (n: number, expiresAtMs = 0) => ({
    accessToken: `access-${n}`,
    refreshToken: `refresh-${n}`,
    expiresAtMs,
    deviceId: '00000000-0000-4000-8000-000000000000',
  })

  test('the renewed token is in the copy before anybody is given it', async () => {
    await bench.serveTokens()
    const copies = new PrivateCopies(join(bench.base, 'copies'), bench.log)
    const kept: unknown[] = []
    const watching = Object.assign(Object.create(copies) as PrivateCopies, {
      read: async () => undefined,
      write: async (name: string, value: unknown) => {
        expect(live.session.accessToken).toBe('access-1')
        kept.push([name, value])
      },
    })
    const live: LiveSession = { session: session(1) }
    const source = createTokenSource(vendor(), {
      sessions: new Map([['kimi-subscription', live]]),
      copies: watching,
      log: bench.log,
      now: Date.now,
    })
    expect((await source(SIGNAL))?.secret).toBe('fresh-0')
    expect(kept).toEqual([['kimi.json', expect.objectContaining({ accessToken: 'fresh-0', refreshToken: 'next-0' })]])
  })

  test('a copy that cannot be written does not lose the session, and says so', async () => {
    await bench.serveTokens()
    await writeFile(join(bench.base, 'copies'), 'in the way')
    const source = createTokenSource(vendor(), {
      sessions: new Map([['kimi-subscription', { session: session(1) }]]),
      copies: new PrivateCopies(join(bench.base, 'copies'), bench.log),
      log: bench.log,
      now: Date.now,
    })
    expect((await source(SIGNAL))?.secret).toBe('fresh-0')
    expect(bench.logged.join()).toMatch(/"error".*could not be kept/)
    expect(bench.logged.join()).not.toMatch(/fresh-0|next-0/)
  })

  test('what another daemon of the user renewed is taken over without asking the vendor', async () => {
    const { calls } = await bench.serveTokens()
    const copies = new PrivateCopies(join(bench.base, 'copies'), bench.log)
    await copies.write('kimi.json', session(2, Date.now() + 600_000))
    const source = createTokenSource(vendor(), {
      sessions: new Map([['kimi-subscription', { session: session(1) }]]),
      copies,
      log: bench.log,
      now: Date.now,
    })
    expect([(await source(SIGNAL))?.secret, calls.length]).toEqual(['access-2', 0])
  })

  test('one that lost the race for a refresh token takes what the winner kept', async () => {
    const copies = new PrivateCopies(join(bench.base, 'copies'), bench.log)
    bench.server = await startModelServer(async (_, response) => {
      await copies.write('kimi.json', session(2, Date.now() + 600_000))
      response.writeHead(400).end('{"error":"invalid_grant"}')
    })
    const source = createTokenSource(vendor(), {
      sessions: new Map([['kimi-subscription', { session: session(1) }]]),
      copies,
      log: bench.log,
      now: Date.now,
    })
    expect((await source(SIGNAL))?.secret).toBe('access-2')
  })

  test('a renewal that ends after an import does not put its tokens over the copy', async () => {
    const copies = new PrivateCopies(join(bench.base, 'copies'), bench.log)
    const sessions = new Map<string, LiveSession>([['kimi-subscription', { session: session(1) }]])
    bench.server = await startModelServer(async (_, response) => {
      await copies.write('kimi.json', session(3))
      sessions.set('kimi-subscription', { session: session(3) })
      response.end(JSON.stringify({ access_token: 'late', refresh_token: 'late', expires_in: 900 }))
    })
    const source = createTokenSource(vendor(), { sessions, copies, log: bench.log, now: Date.now })
    await source(SIGNAL)
    expect((await copies.read('kimi.json'))?.accessToken).toBe('access-3')
  })

  test('a session that is gone says to import one', async () => {
    const source = createTokenSource(vendor(), {
      sessions: new Map(),
      copies: new PrivateCopies(join(bench.base, 'copies'), bench.log),
      log: bench.log,
      now: Date.now,
    })
    await expect(source(SIGNAL)).rejects.toThrow(Failure)
    await expect(source(SIGNAL)).rejects.toThrow(/import its session/)
  })
})
