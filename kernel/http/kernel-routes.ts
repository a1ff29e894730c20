import { Type } from '@sinclair/typebox'
import type { ComposeOptions } from './compose-app.js'

export interface KernelRouteOptions {
  /** What keeps the daemon from taking work; empty: ready. */
  readonly reasonsNotReady: () => readonly string[]
  /** Rows of `GET /v1/plugins`; the plugin host says what else there is of each. */
  readonly plugins: () => readonly { readonly name: string }[]
}

const Health = Type.Object({ status: Type.Literal('ok') })
const Ready = Type.Object({ status: Type.Literal('ready') })
const NotReady = Type.Object({ status: Type.Literal('not_ready'), reasons: Type.Array(Type.String()) })
const PluginList = Type.Object({
  plugins: Type.Array(Type.Object({ name: Type.String() }, { additionalProperties: true })),
})
const AssetParams = Type.Object({ name: Type.String({ maxLength: 100 }) })
const TokenQuery = Type.Object({ token: Type.Optional(Type.String()) })
const DAY = 'private, max-age=86400'

/** The routes a kernel without any plugin serves: probes, the plugin list, the OpenAPI document and its page. */
export const createKernelRoutes =
  ({ reasonsNotReady, plugins }: KernelRouteOptions): NonNullable<ComposeOptions['kernelRoutes']> =>
  all => {
    let document: Promise<object> | undefined
    const describeOnce = () => {
      document ??= import('./openapi.js')
        .then(({ describeApi }) => describeApi(all))
        .catch(error => {
          document = undefined
          throw error
        })
      return document
    }
    return async app => {
      app.get(
        '/healthz',
        { config: { scope: 'none' }, schema: { summary: 'Is the process alive?', response: { 200: Health } } },
        async () => ({ status: 'ok' as const }),
      )
      app.get(
        '/readyz',
        {
          config: { scope: 'none' },
          schema: { summary: 'Does the daemon take work?', response: { 200: Ready, 503: NotReady } },
        },
        async (_request, reply) => {
          const reasons = reasonsNotReady()
          if (reasons.length === 0) return { status: 'ready' as const }
          reply.code(503).header('retry-after', '1')
          return { status: 'not_ready' as const, reasons: [...reasons] }
        },
      )
      app.get(
        '/v1/plugins',
        {
          config: { scope: 'runs:read' },
          schema: { summary: 'Plugins, what they add and what failed', response: { 200: PluginList } },
        },
        async () => ({ plugins: [...plugins()] }),
      )
      app.get(
        '/openapi.json',
        { config: { scope: 'runs:read' }, schema: { summary: 'This interface as an OpenAPI 3.1 document' } },
        async () => describeOnce(),
      )
      app.get(
        '/docs',
        { config: { scope: 'runs:read' }, schema: { hide: true, querystring: TokenQuery } },
        async (request, reply) => {
          const { docsPage, DOCS_POLICY } = await import('./docs-page.js')
          reply.header('content-security-policy', DOCS_POLICY).type('text/html; charset=utf-8')
          const isByQuery = request.headers.authorization === undefined
          return docsPage(isByQuery ? request.query.token : undefined)
        },
      )
      app.get(
        '/docs/:name',
        { config: { scope: 'runs:read' }, schema: { hide: true, params: AssetParams } },
        async (request, reply) => {
          const { docsAsset } = await import('./docs-page.js')
          const { type, content } = await docsAsset(request.params.name)
          reply.header('cache-control', DAY).type(type)
          return content
        },
      )
    }
  }
