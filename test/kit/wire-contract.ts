import { afterEach, describe, expect, test } from 'vitest'
import { Failure } from '#contracts/errors'
import type { Credential, CredentialSource, ModelConnection, ModelWire, WireOptions } from '#contracts/model/provider'
import type { ScriptedWire } from './chat-wire.js'
import { type ModelServer, type Respond, startModelServer } from './model-server.js'
import { loopTurns, stream } from './model-stream.js'
import { modelRequest, playTurn } from './model-turn.js'

export interface WireSubject {
  readonly wire: ModelWire
  /** One of the wire's APIs, as its servers speak it. */
  readonly scripted: ScriptedWire
  readonly api?: '' | 'responses'
  /** The request headers a secret travels in, as a server reads them. */
  secretHeaders(secret: string): Readonly<Record<string, string>>
}

const MEBI = 1024 * 1024

/** What every `ModelWire` does with the options it opens a connection with, and what a connection offers besides turns. */
export function describeModelWire(name: string, subject: WireSubject): void {
  const { wire, scripted, api = '', secretHeaders } = subject
  const undos: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const undo of undos.splice(0).reverse()) await undo()
  })

  const plain: WireOptions = {
    provider: 'acme',
    baseUrl: 'http://127.0.0.1:1',
    credential: () => undefined,
    headers: {},
    modelPrefix: '',
    traits: () => ({ api, quirks: new Set() }),
  }
  const answer = scripted.frames({ text: 'ok' }).join('')
  const answering: Respond = (_, response) => void stream(response).end(answer)

  async function given(
    options: Partial<WireOptions> = {},
    respond = answering,
  ): Promise<{ connection: ModelConnection; server: ModelServer }> {
    const server = await startModelServer(respond)
    undos.push(() => server.close())
    const connection = open({ baseUrl: server.origin, ...options })
    return { connection, server }
  }

  function open(options: Partial<WireOptions>): ModelConnection {
    const connection = wire.open({ ...plain, ...options })
    undos.push(() => connection.close())
    return connection
  }

  describe(`${name} does as its options say`, () => {
    test('the connection bears the name of its provider', () => {
      expect(open({}).provider).toBe('acme')
    })

    test('the credential is asked for each request, at once or in time, and sent whole', async () => {
      const credentials: Credential[] = ['key-one', 'key-two', 'key-three'].map((secret, index) => ({
        secret,
        ...(index === 2 && { headers: { 'X-Account-Id': 'account-7' } }),
      }))
      let asked = 0
      const credential: CredentialSource = () => {
        const next = credentials[asked++]!
        return asked === 2 ? loopTurns(2).then(() => next) : next
      }
      const { connection, server } = await given({ credential })
      for (const _ of credentials) expect((await playTurn(connection)).outcome.kind).toBe('answered')
      expect(server.calls.map(({ headers }) => headers)).toMatchObject(
        credentials.map(({ secret }) => secretHeaders(secret)),
      )
      expect(server.calls.map(({ headers }) => headers['x-account-id'])).toEqual([undefined, undefined, 'account-7'])
    })

    test('without a credential no header of one is sent', async () => {
      const { connection, server } = await given()
      await playTurn(connection)
      for (const header of Object.keys(secretHeaders('x'))) expect(server.calls[0]?.headers).not.toHaveProperty(header)
    })

    test.each([
      ['rejects', () => Promise.reject(new Failure('not_configured', 'import the session of acme first'))],
      [
        'throws',
        () => {
          throw new Failure('not_configured', 'import the session of acme first')
        },
      ],
    ] satisfies [string, CredentialSource][])(
      'a source that %s fails the turn with its words',
      async (_, credential) => {
        const { connection, server } = await given({ credential })
        const failure = { category: 'auth', message: 'import the session of acme first' }
        expect((await playTurn(connection)).outcome).toEqual({ kind: 'failed', failure })
        expect(await connection.fetchModels(new AbortController().signal)).toEqual({ kind: 'failed', failure })
        expect(server.calls).toEqual([])
      },
    )

    test('a turn that is cancelled while its credential is awaited ends at once and asks nobody', async () => {
      let arrive: (value: undefined) => void = () => {}
      const signals: AbortSignal[] = []
      const { connection, server } = await given({
        credential: signal => {
          signals.push(signal)
          return new Promise<undefined>(resolve => {
            arrive = resolve
          })
        },
      })
      const stop = new AbortController()
      const turn = playTurn(connection, { signal: stop.signal })
      stop.abort()
      expect((await turn).outcome).toMatchObject({ failure: { category: 'cancelled' } })
      expect(signals.map(signal => signal.aborted)).toEqual([true])
      arrive(undefined)
      await loopTurns(5)
      expect(server.calls).toEqual([])
    })

    test('a credential that no header can carry is not sent, nor told', async () => {
      const { connection, server } = await given({ credential: () => ({ secret: 'geheim\r\nx-evil: 1' }) })
      const { outcome } = await playTurn(connection)
      expect(outcome).toMatchObject({ kind: 'failed', failure: { category: 'auth' } })
      expect(JSON.stringify(outcome)).not.toContain('geheim')
      expect(server.calls).toEqual([])
    })

    test('the secret of a request is never repeated, wherever a server shows it', async () => {
      const secrets = ['sk-old-0123456789', 'sk-new-9876543210']
      let turn = 0
      const { connection } = await given({ credential: () => ({ secret: secrets[turn]! }) }, (_, response) => {
        const words = `no such key: ${secrets[turn]}`
        response.writeHead(401, { 'content-type': 'application/json' }).end(scripted.error(words))
      })
      for (turn = 0; turn < 2; turn++) {
        const { outcome } = await playTurn(connection)
        expect(outcome).toMatchObject({
          failure: { category: 'auth', message: expect.stringContaining('no such key') },
        })
        expect(JSON.stringify(outcome)).not.toContain(secrets[turn])
      }
    })

    test("the entry's headers are sent with every request", async () => {
      const headers = { 'HTTP-Referer': 'https://app.example', 'X-Title': 'App', 'User-Agent': 'acme-cli/1.0' }
      const { connection, server } = await given({ headers })
      await playTurn(connection)
      await connection.fetchModels(new AbortController().signal)
      const sent = { 'http-referer': 'https://app.example', 'x-title': 'App', 'user-agent': 'acme-cli/1.0' }
      expect(server.calls.map(call => call.headers)).toMatchObject([sent, sent])
    })

    test('the prefix stands before a model id once, and traits are asked for without it', async () => {
      const asked: string[] = []
      const { connection, server } = await given({
        modelPrefix: 'models/',
        traits: model => {
          asked.push(model)
          return { api, quirks: new Set() }
        },
      })
      for (const model of ['flash', 'models/flash']) await playTurn(connection, { request: modelRequest({ model }) })
      expect(server.calls.map(({ body }) => body?.model)).toEqual(['models/flash', 'models/flash'])
      expect(asked).toEqual(['flash', 'models/flash'])
    })

    test.each(['acme.example', 'ftp://acme.example', 'https://user:geheim@acme.example'])(
      'the base URL %s is refused by name, without what is secret in it',
      baseUrl => {
        expect(() => wire.open({ ...plain, baseUrl })).toThrow(/acme/)
        expect(() => wire.open({ ...plain, baseUrl })).not.toThrow(/geheim/)
      },
    )

    test.each([
      ['X Title', 'a'],
      ['X-Title', 'a\r\nb: c'],
      ['Content-Length', '3'],
      ['Host', 'other.example'],
    ])('the header %s: %j is refused by name', (header, value) => {
      const opening = () => wire.open({ ...plain, headers: { [header]: value } })
      expect(opening).toThrow(new RegExp(header, 'i'))
      expect(opening).toThrow(/acme/)
    })
  })

  describe(`${name} lists models`, () => {
    const never = new AbortController().signal

    test('from the base URL, with the credential, as they were sent', async () => {
      const body = { object: 'list', data: [{ id: 'ä-1', context_window: 9 }, { id: 'b' }], has_more: false }
      const { connection, server } = await given({ credential: () => ({ secret: 'key-1' }) }, (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body, null, 2))
      })
      expect(await connection.fetchModels(never)).toEqual({ kind: 'listed', body })
      expect(server.calls[0]).toMatchObject({ path: expect.stringMatching(/\/models(?:\?|$)/), bodyText: '' })
      expect(server.calls[0]?.headers).toMatchObject(secretHeaders('key-1'))
    })

    test.each([
      [401, '{"error":{"message":"no"}}', { category: 'auth', status: 401 }],
      [429, 'slow', { category: 'retryable', status: 429 }],
      [302, '', { category: 'other', status: 302 }],
      [200, '<html>hello</html>', { category: 'other' }],
      [200, '{"data":[', { category: 'other' }],
      [200, '', { category: 'other' }],
    ])('HTTP %i %j is a failure', async (status, body, failure) => {
      const { connection } = await given({}, (_, response) => {
        response.writeHead(status, { ...(status === 302 && { location: '/elsewhere' }) }).end(body)
      })
      expect(await connection.fetchModels(never)).toMatchObject({ kind: 'failed', failure })
    })

    test('a list beyond 8 MiB is given up, and one below is read', { timeout: 60_000 }, async () => {
      const { connection, server } = await given({}, (_, response, index) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        if (index === 0) response.write(`{"data":[],"filler":"${'x'.repeat(9 * MEBI)}`)
        else response.end(JSON.stringify({ data: [], filler: 'x'.repeat(7 * MEBI) }))
      })
      expect(await connection.fetchModels(never)).toMatchObject({ kind: 'failed', failure: { category: 'other' } })
      expect(await (await server.call(0)).closed).toBe(true)
      expect(await connection.fetchModels(never)).toMatchObject({ kind: 'listed' })
    })

    test('a fired signal ends it, and nobody there is retryable', async () => {
      const { connection, server } = await given({}, () => undefined)
      const stop = new AbortController()
      const listing = connection.fetchModels(stop.signal)
      const { closed } = await server.call(0)
      stop.abort()
      expect(await listing).toMatchObject({ kind: 'failed', failure: { category: 'cancelled' } })
      expect(await closed).toBe(true)
      await server.close()
      expect(await connection.fetchModels(never)).toMatchObject({ kind: 'failed', failure: { category: 'retryable' } })
    })
  })

  describe(`${name} closes`, () => {
    test('turns in flight fail and no socket is left', async () => {
      const { connection, server } = await given({}, (_, response) => {
        stream(response).write(scripted.frames({ chunks: ['a', 'b'] })[0])
      })
      const turn = playTurn(connection)
      const { closed } = await server.call(0)
      await connection.close()
      expect((await turn).outcome.kind).toBe('failed')
      expect(await closed).toBe(true)
      while (server.connections() > 0) await loopTurns(1)
    })

    test('idle sockets are ended too, and a closed connection answers with a failure', async () => {
      const { connection, server } = await given()
      await playTurn(connection)
      expect(server.connections()).toBe(1)
      await connection.close()
      while (server.connections() > 0) await loopTurns(1)
      expect((await playTurn(connection)).outcome).toMatchObject({ kind: 'failed', failure: { category: 'other' } })
      expect(await connection.fetchModels(new AbortController().signal)).toMatchObject({ kind: 'failed' })
      expect(server.calls.length).toBe(1)
    })

    test('one that never sent anything opens no socket, and may be closed twice', async () => {
      const { connection, server } = await given()
      await connection.close()
      await connection.close()
      expect((await playTurn(connection)).outcome.kind).toBe('failed')
      expect(server.connections()).toBe(0)
    })
  })
}
