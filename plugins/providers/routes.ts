import { Type } from '@sinclair/typebox'
import type { RoutePlugin } from '#contracts/http'
import type { ModelView, Providers, ProviderView } from '#contracts/model/providers'
import { parseAddress, shownUrl } from './address.js'
import type { Checks } from './checks.js'

const ModelRow = Type.Object({
  id: Type.String(),
  provider: Type.String(),
  aliases: Type.Array(Type.String()),
  input_cost_per_mtok: Type.Optional(Type.Number({ description: 'US dollars; absent: unknown.' })),
  output_cost_per_mtok: Type.Optional(Type.Number({ description: 'US dollars; absent: unknown.' })),
  modalities: Type.Optional(Type.Array(Type.String(), { description: 'What it takes in; absent: unknown.' })),
  context_window: Type.Optional(Type.Integer({ description: 'Tokens; absent: unknown.' })),
})

const ProviderRow = Type.Object({
  name: Type.String(),
  configured: Type.Boolean({ description: 'It can be asked.' }),
  missing: Type.Optional(Type.String({ description: 'What to do so that it can be asked.' })),
  api_key_env: Type.String({ description: 'Variable that holds its key; empty: it has none.' }),
  auth_type: Type.Union([Type.Literal('api_key'), Type.Literal('subscription')]),
  base_url: Type.String(),
  model_count: Type.Integer(),
  health: Type.Union(['unconfigured', 'ok', 'failed', 'unverified'].map(word => Type.Literal(word))),
  health_error: Type.Optional(Type.String()),
})

const Key = Type.Object({ key: Type.String({ minLength: 1, description: 'Never shown again.' }) })
const Name = Type.Object({ name: Type.String({ minLength: 1, maxLength: 256 }) })
const Query = Type.Object({
  check: Type.Optional(
    Type.Boolean({ description: 'Ask each configured provider for its models first, at most once a minute.' }),
  ),
})

/** Lists of models and providers, and the keys that are given to a running daemon. */
export function providerRoutes(providers: Providers, checks: Checks): RoutePlugin {
  return async app => {
    app.get(
      '/v1/models',
      {
        config: { scope: 'runs:read' },
        schema: {
          summary: 'List the models that are known',
          tags: ['models'],
          response: { 200: Type.Object({ models: Type.Array(ModelRow) }) },
        },
      },
      async () => ({ models: providers.models().map(modelRow) }),
    )

    app.get(
      '/v1/providers',
      {
        config: { scope: 'runs:read' },
        schema: {
          summary: 'List the providers, and whether each can be asked',
          tags: ['models'],
          querystring: Query,
          response: { 200: Type.Object({ providers: Type.Array(ProviderRow) }) },
        },
      },
      async ({ query }) => {
        await checks.sessions()
        if (query.check) await checks.all()
        return { providers: providers.list().map(view => providerRow(view, providers.modelsOf(view.name).length)) }
      },
    )

    app.put(
      '/v1/providers/:name/key',
      {
        config: { scope: 'admin' },
        schema: {
          summary: 'Give a provider a key',
          description: 'It belongs to the provider’s present base URL and wins over the variable.',
          tags: ['models'],
          params: Name,
          body: Key,
          response: { 204: Type.Null() },
        },
      },
      async ({ params: { name }, body: { key } }, reply) => {
        await providers.setKey(name, key)
        return reply.code(204).send(null)
      },
    )
  }
}

function modelRow({ id, provider, aliases, entry }: ModelView) {
  const { pricing, modalities, context_window } = entry
  return {
    id,
    provider,
    aliases: [...aliases],
    ...(pricing && {
      input_cost_per_mtok: pricing.input_per_1m_tokens_usd,
      output_cost_per_mtok: pricing.output_per_1m_tokens_usd,
    }),
    ...(modalities && { modalities: [...modalities] }),
    ...(context_window !== undefined && { context_window }),
  }
}

function providerRow(view: ProviderView, modelCount: number) {
  const { name, entry, baseUrl, isConfigured, missing, health, healthError } = view
  return {
    name,
    configured: isConfigured,
    ...(missing !== undefined && { missing }),
    api_key_env: entry.api_key_env ?? '',
    auth_type: entry.token_source_required ? ('subscription' as const) : ('api_key' as const),
    // What cannot be read as an address might hold a password.
    base_url: parseAddress(baseUrl) === undefined ? '' : shownUrl(baseUrl),
    model_count: modelCount,
    health,
    ...(healthError !== undefined && { health_error: healthError }),
  }
}
