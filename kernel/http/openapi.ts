import type { TSchema } from '@sinclair/typebox'
import type { FastifySchema } from 'fastify'
import { ErrorEnvelope } from '#contracts/http'
import type { RouteDescription } from './compose-app.js'
import { mayBeAbsent } from './validators.js'

const NAMED = 'x-schema-name'

/**
 * The OpenAPI 3.1 document of an app, made from nothing but its route declarations. What a route does not say about itself
 * is derived from its method and path. Loads the generator when called.
 */
export async function describeApi(routes: readonly RouteDescription[]): Promise<Readonly<Record<string, unknown>>> {
  const [{ default: Fastify }, { default: swagger }] = await Promise.all([
    import('fastify'),
    import('@fastify/swagger'),
  ])
  const app = Fastify({ logger: false, exposeHeadRoutes: false })
  try {
    app.setValidatorCompiler(() => () => true)
    app.setSerializerCompiler(() => JSON.stringify)
    const visible = routes.filter(route => route.schema.hide !== true)
    await app.register(swagger, { openapi: frame(visible) })
    const named: Record<string, unknown> = {}
    for (const route of visible) {
      const url = route.url.replace(/\*$/, ':path')
      const schema = takeNamed(operation(route, url), named) as FastifySchema
      app.route({ method: route.method, url, schema, handler: () => undefined })
    }
    await app.ready()
    const document = plain(app.swagger()) as Document
    for (const route of visible) markOptionalBody(document.paths, route)
    Object.assign(document.components.schemas, named)
    referToNamed(document)
    return document
  } finally {
    await app.close()
  }
}

const frame = (routes: readonly RouteDescription[]) => ({
  openapi: '3.1.0' as const,
  info: {
    title: 'runwright',
    version: '1.0.0',
    description: 'Runs LLM coding agents behind REST and server-sent events.',
    license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
  },
  servers: [{ url: '/', description: 'This daemon.' }],
  tags: [...new Set(routes.map(tagOf))].sort().map(name => ({ name, description: `Routes of ${name}.` })),
  components: {
    securitySchemes: {
      bearer: { type: 'http' as const, scheme: 'bearer', description: 'An API key.' },
      token: {
        type: 'apiKey' as const,
        in: 'query',
        name: 'token',
        description: 'For clients that cannot set headers.',
      },
    },
  },
})

function operation(route: RouteDescription, url: string): FastifySchema {
  const { method, scope, schema, isRawBody } = route
  const needsKey = scope !== 'none'
  const hasBody = schema.body !== undefined || isRawBody
  const failures: Record<string, string> = {
    ...(hasBody || schema.querystring || schema.params ? { 400: 'The request is not valid.' } : {}),
    ...(needsKey ? { 401: 'No key, or not a valid one.' } : {}),
    403: needsKey ? 'The key lacks the scope, or the Host or Origin is not ours.' : 'The Host or Origin is not ours.',
    ...(url.includes(':') ? { 404: 'There is no such thing, or it belongs to another tenant.' } : {}),
    ...(hasBody ? { 413: 'The body is too large.', 415: 'The body is not JSON.' } : {}),
    503: 'The daemon is stopping or overloaded; try again after Retry-After.',
  }
  const declared = (schema.response ?? { 200: { description: 'Done.' } }) as Record<string, TSchema>
  const responses = Object.fromEntries([
    ...Object.entries(failures).map(([status, description]) => [status, { ...plain(ErrorEnvelope), description }]),
    ...Object.entries(declared).map(([status, answer]) => [status, { description: 'Done.', ...plain(answer) }]),
  ])
  return {
    ...plain(schema),
    operationId: textOr(schema.operationId, operationIdOf(method, url)),
    summary: textOr(schema.summary, `${method} ${url}`),
    tags: [tagOf(route)],
    response: responses,
    ...(isRawBody && schema.body === undefined ? { body: { type: 'object' } } : {}),
    security: (needsKey ? [{ bearer: [scope] }, { token: [scope] }] : []) as Record<string, string[]>[],
  }
}

const textOr = (given: unknown, derived: string): string => (typeof given === 'string' ? given : derived)

/** Schemas as the wire has them, without the marks typebox keeps on them. */
const plain = (schema: object): Record<string, unknown> => JSON.parse(JSON.stringify(schema))

const tagOf = ({ url, schema }: RouteDescription): string => {
  if (Array.isArray(schema.tags) && typeof schema.tags[0] === 'string') return schema.tags[0]
  const [first = 'service', second] = url.split('/').filter(part => part !== '' && part !== '*')
  return first === 'v1' ? (second ?? 'service') : first === 'mcp' || first === 'viz' ? first : 'service'
}

/** `POST /v1/runs/:id/cancel` is `postRunsByIdCancel`: unique as long as method and path are. */
function operationIdOf(method: string, url: string): string {
  const words = url
    .replace(/^\/v1(?=\/)/, '')
    .replace(/\/$/, '/root')
    .split('/')
    .map(part => (part.startsWith(':') ? `by-${part.slice(1)}` : part))
    .flatMap(part => part.split(/[^A-Za-z0-9]+/))
  return method.toLowerCase() + words.map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

interface Document {
  readonly paths: Record<string, Record<string, { requestBody?: { required?: boolean } }>>
  readonly components: { readonly schemas: Record<string, unknown> }
  readonly [key: string]: unknown
}

/**
 * Schemas with a name of their own (recursive ones) go to `schemas`; where they stood, and what refers to them, keeps their
 * name under a key that the generator lets through.
 */
function takeNamed(node: unknown, schemas: Record<string, unknown>): unknown {
  if (typeof node !== 'object' || node === null) return node
  const fields = node as Record<string, unknown>
  for (const [key, value] of Object.entries(fields)) fields[key] = takeNamed(value, schemas)
  const { $id, $ref } = fields
  if (typeof $ref === 'string' && !$ref.startsWith('#')) return { [NAMED]: $ref }
  if (typeof $id !== 'string') return fields
  delete fields.$id
  schemas[$id] = fields
  return { [NAMED]: $id }
}

function referToNamed(node: unknown): void {
  if (typeof node !== 'object' || node === null) return
  const fields = node as Record<string, unknown>
  for (const value of Object.values(fields)) referToNamed(value)
  if (typeof fields[NAMED] !== 'string') return
  fields.$ref = `#/components/schemas/${fields[NAMED]}`
  delete fields[NAMED]
}

/** The generator calls every body required. */
function markOptionalBody(paths: Document['paths'], { url, method, schema }: RouteDescription) {
  if (schema.body === undefined || !mayBeAbsent(schema.body as TSchema)) return
  const path = url.replace(/\*$/, ':path').replaceAll(/:([^/]+)/g, '{$1}')
  const body = paths[path]?.[method.toLowerCase()]?.requestBody
  if (body !== undefined) body.required = false
}
