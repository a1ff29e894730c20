import { createServer } from 'node:http'
import { Type } from '@sinclair/typebox'
import { describe, expect, test } from 'vitest'
import { Failure } from '#contracts/errors'
import { definePlugin, type PluginScope, port } from '#contracts/plugin'
import { describePlugin } from './describe-plugin.js'
import { handlesLeftBy } from './handles.js'
import { openPlugin } from './open-plugin.js'

const GREETING = port<string>('test-greeting')
const GREETER = port<{ greet(): string }>('test-greeter')

const greeter = definePlugin({
  name: 'greeter',
  config: Type.Object({ name: Type.String({ default: 'you' }), times: Type.Integer({ minimum: 1, default: 1 }) }),
  needs: [GREETING],
  provides: [GREETER],
  register(scope) {
    const greet = () => `${scope.use(GREETING)} ${scope.config.name}`.repeat(scope.config.times)
    scope.provide(GREETER, { greet })
    scope.defer(() => undefined)
    scope.defer(() => undefined)
    scope.tool({
      name: 'greet',
      description: 'Greets.',
      parameters: Type.Object({ loud: Type.Optional(Type.Boolean()) }),
      action: 'read',
      execute: async ({ loud }) => ({ output: loud ? greet().toUpperCase() : greet() }),
    })
    scope.routes(async app => {
      app.get('/v1/greeting', { config: { scope: 'runs:read' } }, async request => ({
        greeting: greet(),
        tenant: request.identity.tenantId,
      }))
      const schema = { querystring: Type.Object({ times: Type.Integer({ default: 2 }) }) }
      app.get('/v1/echo', { schema, config: { scope: 'none' } }, async request => request.query)
      app.get('/v1/gone', { config: { scope: 'none' } }, async () => {
        throw new Failure('not_found', 'no such greeting')
      })
    })
    scope.tap('runAdmitting', async admission => ({ ...admission, previousRunId: greet() }))
    scope.background('watch', async superseded => {
      const timer = setInterval(() => undefined, 1000)
      await new Promise(resolve => superseded.addEventListener('abort', resolve, { once: true }))
      clearInterval(timer)
    })
  },
})

const ports = [[GREETING, 'hello']] as const

describePlugin(greeter, { ports })

test('an opened plugin shows its services, tools, taps and routes, and closes', async () => {
  const opened = await openPlugin(greeter, { ports, config: { name: 'house' } })
  expect(opened.port(GREETER)?.greet()).toBe('hello house')
  expect(await opened.call('greet', { loud: true })).toEqual({ output: 'HELLO HOUSE' })
  expect(await opened.call('greet', { loud: 'yes' })).toEqual({ error: 'invalid arguments: /loud Expected boolean' })
  expect(await opened.hooks.runAdmitting.promise({} as never)).toEqual({ previousRunId: 'hello house' })
  const replies = await Promise.all(
    ['/v1/greeting', '/v1/gone', '/v1/echo?times=7', '/v1/echo?times=x'].map(url => opened.app.inject({ url })),
  )
  expect(replies.map(reply => [reply.statusCode, reply.json()])).toEqual([
    [200, { greeting: 'hello house', tenant: 'default' }],
    [404, { error: { code: 'not_found', message: 'no such greeting' } }],
    [200, { times: 7 }],
    [400, { error: { code: 'invalid_request', message: 'querystring /times: Expected integer' } }],
  ])
  await opened.close()
})

test('a plugin that lacks a port or has a bad config does not open', async () => {
  await expect(openPlugin(greeter)).rejects.toThrow('needs test-greeting')
  await expect(openPlugin(greeter, { ports, config: { times: 'many' } })).rejects.toThrow('times: Expected integer')
})

/** Broken twins: each must be caught by what `describePlugin` looks at. */
describe('handles that a twin leaves behind are seen', () => {
  const twin = (register: (scope: PluginScope<object>) => void) =>
    definePlugin({ name: 'twin', config: Type.Object({}), register })
  const leaks: readonly [string, (scope: PluginScope<object>) => void, string][] = [
    ['timer', () => void setInterval(() => undefined, 100_000).unref(), 'timer'],
    ['server', () => void createServer().listen(0).unref(), 'server'],
  ]
  test.each(leaks)('a %s', async (_, register, kind) => {
    const left = await handlesLeftBy(async () => {
      const opened = await openPlugin(twin(register))
      await opened.close()
    })
    expect(left).toContain(kind)
  })

  test('and none is seen where all was undone', async () => {
    const tidy = twin(scope => {
      const timer = setInterval(() => undefined, 100_000)
      scope.defer(() => clearInterval(timer))
      const server = createServer().listen(0)
      scope.defer(() => new Promise(resolve => server.close(() => resolve())))
    })
    const left = await handlesLeftBy(async () => {
      const opened = await openPlugin(tidy)
      await opened.close()
    })
    expect(left).toEqual([])
  })
})
