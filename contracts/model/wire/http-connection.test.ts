import type { Dispatcher } from 'undici'
import { expect, test } from 'vitest'
import { Failure, type FailureCode } from '#contracts/errors'
import { modelRequest, playTurn } from '#test/kit/model-turn'
import type { ModelOutcome } from '../client.js'
import type { CredentialSource } from '../provider.js'
import { HTTP_LIMITS, HttpConnection, type HttpDialect } from './http-connection.js'
import { RequestHeaders } from './request-headers.js'

/** Says each event's data again. */
const ECHO: HttpDialect = {
  headers: new RequestHeaders('acme', {}, {}, ({ secret }) => ({ 'x-key': secret })),
  modelsPath: '/models',
  turn: ({ model }) => ({
    path: '/turns',
    body: Buffer.from(model),
    reader: draft => ({
      isDone: false,
      take: data => void draft.addText(data),
      takeWhole: () => undefined,
      finish: (): ModelOutcome => draft.finish('stop'),
    }),
  }),
}

/** An undici agent whose server answers every request with the same stream. */
function agentOf(sent: Dispatcher.DispatchOptions[]): Dispatcher {
  const controller = { abort() {}, pause() {}, resume() {} } as unknown as Dispatcher.DispatchController
  const dispatch = (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => {
    sent.push(options)
    handler.onRequestStart?.(controller, {})
    handler.onResponseStart?.(controller, 200, { 'content-type': 'text/event-stream' })
    handler.onResponseData?.(controller, Buffer.from('data: hello\n\n'))
    handler.onResponseEnd?.(controller, {})
    return true
  }
  return { dispatch, destroy: async () => {} } as unknown as Dispatcher
}

function connected(credential: CredentialSource, openAgent?: () => Promise<Dispatcher>) {
  const sent: Dispatcher.DispatchOptions[] = []
  const options = { provider: 'acme', origin: 'http://acme.test:81', credential, limits: HTTP_LIMITS }
  const connection = new HttpConnection(ECHO, { ...options, openAgent: openAgent ?? (async () => agentOf(sent)) })
  return { connection, sent }
}

test('a turn goes out in the words of the dialect, with headers and credential, and is read by its reader', async () => {
  const { connection, sent } = connected(() => ({ secret: 'k' }))
  const { outcome } = await playTurn(connection, { request: modelRequest({ model: 'm' }) })
  expect(outcome).toMatchObject({ kind: 'answered', text: 'hello' })
  expect(sent).toMatchObject([
    { origin: 'http://acme.test:81', path: '/turns', method: 'POST', body: Buffer.from('m') },
  ])
  expect(sent[0]?.headers).toEqual(expect.arrayContaining(['x-key', 'k', 'accept-encoding', 'identity']))
})

test.each([
  ['not_configured', 'auth'],
  ['unauthorized', 'auth'],
  ['unavailable', 'retryable'],
  ['upstream_error', 'retryable'],
] satisfies [FailureCode, string][])(
  'a credential source that fails with %s makes the turn fail as %s',
  async (code, category) => {
    const { connection, sent } = connected(() => Promise.reject(new Failure(code, 'the session cannot be refreshed')))
    expect((await playTurn(connection)).outcome).toEqual({
      kind: 'failed',
      failure: { category, message: 'the session cannot be refreshed' },
    })
    expect(sent).toEqual([])
  },
)

test('an agent that could not be loaded is asked for again by the next turn, and once by those that wait', async () => {
  let loads = 0
  const { connection } = connected(
    () => undefined,
    async () => {
      loads++
      if (loads === 1) throw new Error('not now')
      return agentOf([])
    },
  )
  expect((await playTurn(connection)).outcome).toMatchObject({ failure: { category: 'other' } })
  const turns = await Promise.all([1, 2, 3].map(() => playTurn(connection)))
  expect(turns.map(({ text }) => text)).toEqual(['hello', 'hello', 'hello'])
  expect(loads).toBe(2)
})
