import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import Fastify, { type FastifyInstance } from 'fastify'
import { FAILURES, Failure, isFailure, messageOf } from '#contracts/errors'
import { OPEN_IDENTITY } from '#contracts/identity'
import type { ComposedApp, RouteContribution, RouteDeclaration } from '#kernel/host/composed-app'
import { pluginFault } from '#kernel/host/fault'

/** An app for tests, with `inject` and `fetch`-free requests. */
export interface TestApp extends ComposedApp {
  readonly fastify: FastifyInstance
}

/**
 * Composes routes with plain Fastify: no keys, no host check, failures answered as the service does. Enough to test a
 * plugin's handlers and schemas; the real front has suites of its own.
 */
export async function composeTestApp(contributions: readonly RouteContribution[]): Promise<TestApp> {
  const fastify = Fastify({ exposeHeadRoutes: false })
  const routes: RouteDeclaration[] = []
  let plugin = ''
  fastify.decorateRequest('identity')
  fastify.addHook('onRequest', async request => {
    request.identity = OPEN_IDENTITY
  })
  fastify.addHook('onRoute', route => {
    for (const method of [route.method].flat())
      routes.push({ method, url: route.url, plugin, scope: route.config?.scope as RouteDeclaration['scope'] })
  })
  fastify.setErrorHandler((error, _request, reply) => {
    const code = isFailure(error) ? error.code : 'internal_error'
    return reply.code(FAILURES[code].status).send({ error: { code, message: messageOf(error) } })
  })
  fastify.setValidatorCompiler<TSchema>(({ schema, httpPart }) => given => {
    const value: unknown =
      httpPart === 'body' ? given : Value.Convert(schema, Value.Default(schema, Value.Clone(given ?? {})))
    const [wrong] = Value.Errors(schema, value)
    if (wrong === undefined) return { value }
    return { error: new Failure('invalid_request', `${httpPart} ${wrong.path}: ${wrong.message}`) }
  })
  fastify.setSerializerCompiler(() => data => JSON.stringify(data))
  try {
    for (const contribution of contributions) {
      plugin = contribution.plugin
      for (const route of contribution.routes) await fastify.register(async app => route(app as never, {}))
    }
    await fastify.ready()
  } catch (error) {
    await fastify.close()
    throw pluginFault(plugin, `adds routes that cannot be composed: ${messageOf(error)}`, error)
  }
  return {
    fastify,
    routes,
    routing: (request, response) => fastify.routing(request, response),
    close: () => fastify.close(),
  }
}
