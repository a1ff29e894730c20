import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { Failure } from '#contracts/errors'
import { goneSignal, type RoutePlugin } from '#contracts/http'
import { CostBody, costOf, ExposeBody, ProviderBody } from './bodies.js'
import { FETCH_TIMEOUT_MS, fetchList } from './fetch-list.js'
import type { ModelSettings } from './model-settings.js'
import { removeProvider } from './remove-provider.js'
import { saveProvider } from './save-provider.js'
import { ProviderRow, snapshotOf } from './snapshot.js'

const NameParams = Type.Object({ name: Type.String({ minLength: 1, maxLength: 256 }) })
const Ok = Type.Object({ ok: Type.Literal(true) })
const Snapshot = Type.Object({ providers: Type.Array(ProviderRow) })
const Saved = Type.Object({ ok: Type.Literal(true), provider: Type.String() })
const Fetched = Type.Object({ ok: Type.Literal(true), model_count: Type.Integer({ minimum: 0 }) })
const OK = { ok: true } as const
/** The fetch has its own limit, and a little time to tell of it. */
const FETCH_ROUTE_MS = FETCH_TIMEOUT_MS + 10_000

/** Reading and changing what is set of providers and models. `desk` is undefined where there are no providers. */
export function modelSettingsRoutes(desk: ModelSettings | undefined): RoutePlugin {
  const fetching = new Set<string>()
  const open = (reply: FastifyReply): ModelSettings => {
    if (desk === undefined)
      throw new Failure('not_implemented', 'model settings need providers, which are not configured here')
    reply.header('x-model-settings-store', desk.parts.store.isDurable ? 'database' : 'memory')
    return desk
  }
  const admin = (summary: string, more: object = {}) => ({ summary, tags: ['models'], ...more })

  return async app => {
    app.get(
      '/v1/model-settings',
      {
        config: { scope: 'runs:read' },
        schema: { ...admin('List providers with their settings and models'), response: { 200: Snapshot } },
      },
      async (_, reply) => ({ providers: await snapshotOf(open(reply)) }),
    )

    app.post(
      '/v1/model-settings/providers',
      {
        config: { scope: 'admin' },
        schema: {
          ...admin('Add a provider, or change how one is reached', {
            description:
              'A key stays with its address: a changed address begins without one, unless this request brings it.',
          }),
          body: ProviderBody,
          response: { 200: Saved },
        },
      },
      async ({ body }, reply) => {
        await saveProvider(open(reply), body)
        return { ...OK, provider: body.name }
      },
    )

    app.delete(
      '/v1/model-settings/providers/:name',
      {
        config: { scope: 'admin' },
        schema: { ...admin('Remove a provider that was added'), params: NameParams, response: { 200: Ok } },
      },
      async ({ params: { name } }, reply) => {
        await removeProvider(open(reply), name)
        return OK
      },
    )

    app.post(
      '/v1/model-settings/providers/:name/fetch',
      {
        config: { scope: 'admin', timeoutMs: FETCH_ROUTE_MS },
        schema: { ...admin('Ask a provider for its models'), params: NameParams, response: { 200: Fetched } },
      },
      async ({ params: { name } }, reply) => {
        const ready = open(reply)
        if (fetching.has(name)) throw new Failure('conflict', `the models of ${name} are being fetched already`)
        fetching.add(name)
        try {
          return { ...OK, model_count: await fetchList(ready, name, goneSignal(reply)) }
        } finally {
          fetching.delete(name)
        }
      },
    )

    app.post(
      '/v1/model-settings/providers/:name/expose',
      {
        config: { scope: 'admin' },
        schema: {
          ...admin('Show a provider or single models in lists, or hide them', {
            description:
              'Routing is not affected. Once single models are chosen, lists show what is chosen and nothing else.',
          }),
          params: NameParams,
          body: ExposeBody,
          response: { 200: Ok },
        },
      },
      async ({ params: { name }, body }, reply) => {
        await open(reply).expose(name, body.exposed)
        return OK
      },
    )

    app.post(
      '/v1/model-settings/providers/:name/cost',
      {
        config: { scope: 'admin' },
        schema: {
          ...admin('Set what a model costs'),
          params: NameParams,
          body: CostBody,
          response: { 200: Ok },
        },
      },
      async ({ params: { name }, body }, reply) => {
        await open(reply).setCost(name, body.model, costOf(body))
        return OK
      },
    )
  }
}
