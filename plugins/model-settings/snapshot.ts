import { type Static, Type } from '@sinclair/typebox'
import type { ModelView, ProviderView } from '#contracts/model/providers'
import { exposureOf } from './exposure.js'
import { readKeyRef, shownRef } from './key-ref.js'
import type { ModelSettings } from './model-settings.js'
import { authKindOf } from './overlay.js'
import { AUTH_KINDS } from './setting.js'

const usd = Type.Optional(Type.Number({ minimum: 0 }))

export const ModelRow = Type.Object({
  id: Type.String(),
  display_name: Type.Optional(Type.String()),
  context_window: Type.Optional(Type.Integer()),
  input_per_1m_tokens_usd: usd,
  output_per_1m_tokens_usd: usd,
  cost_source: Type.Optional(
    Type.Union([Type.Literal('provider'), Type.Literal('catalog'), Type.Literal('user')], {
      description: 'Who says what it costs: the provider’s list, the catalog, or somebody over this API.',
    }),
  ),
  modalities: Type.Optional(Type.Array(Type.String())),
  exposed: Type.Boolean({ description: 'Whether GET /v1/models shows it.' }),
})

export const ProviderRow = Type.Object({
  name: Type.String(),
  base_url: Type.String(),
  protocol: Type.String(),
  auth_kind: Type.Union(AUTH_KINDS.map(kind => Type.Literal(kind))),
  builtin: Type.Boolean({ description: 'It stands in the catalog.' }),
  has_credential: Type.Boolean(),
  key_ref: Type.Optional(Type.String({ description: 'Where its key is. `stored`: it was given over this API.' })),
  model_count: Type.Integer({ minimum: 0 }),
  exposed_count: Type.Integer({ minimum: 0 }),
  fetched_at: Type.Optional(Type.String({ description: 'RFC 3339.' })),
  fetch_error: Type.Optional(Type.String()),
  models: Type.Optional(Type.Array(ModelRow)),
})
type ProviderRow = Static<typeof ProviderRow>

/** Every provider that lists show, with what is set for it. */
export async function snapshotOf(desk: ModelSettings): Promise<ProviderRow[]> {
  const isExposed = exposureOf(desk.settings)
  return Promise.all(desk.parts.providers.list().map(view => rowOf(desk, view, isExposed)))
}

async function rowOf(
  { parts, settings, lists }: ModelSettings,
  { name, baseUrl, entry, isConfigured }: ProviderView,
  isExposed: (provider: string, model: string) => boolean,
): Promise<ProviderRow> {
  const { reach, keyRef } = settings.get(name) ?? {}
  const models = parts.providers.modelsOf(name).map(model => modelRow(model, isExposed(name, model.id)))
  const list = lists.get(name)
  const authKind = reach?.authKind ?? authKindOf(entry)
  const variable = reach?.baseUrl === undefined ? entry.api_key_env : undefined
  const hasOther = isKeyless(entry, baseUrl)
    ? variable !== undefined && parts.places.secrets.get(variable) !== undefined
    : isConfigured
  const hasKey = keyRef === undefined ? hasOther : (await readKeyRef(keyRef, parts.places)) !== undefined
  return {
    name,
    base_url: baseUrl.split('?')[0] as string,
    protocol: entry.protocol,
    auth_kind: authKind,
    builtin: parts.catalog.has(name),
    has_credential: authKind !== 'none' && hasKey,
    ...(keyRef !== undefined && { key_ref: shownRef(keyRef) }),
    model_count: models.length,
    exposed_count: models.filter(({ exposed }) => exposed).length,
    ...(list?.at !== undefined && { fetched_at: list.at }),
    ...(list?.error !== undefined && { fetch_error: list.error }),
    ...(models.length > 0 && { models }),
  }
}

/** Configured with or without a key: that it is says nothing of one. */
const isKeyless = (entry: ProviderView['entry'], baseUrl: string): boolean =>
  entry.api_key_optional === true || (URL.canParse(baseUrl) && LOOPBACK.test(new URL(baseUrl).hostname))
const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

function modelRow({ id, entry, priceSource }: ModelView, exposed: boolean): Static<typeof ModelRow> {
  const { display_name, context_window, pricing, modalities } = entry
  return {
    id,
    ...(display_name !== undefined && { display_name }),
    ...(context_window !== undefined && { context_window }),
    ...(pricing !== undefined && {
      input_per_1m_tokens_usd: pricing.input_per_1m_tokens_usd,
      output_per_1m_tokens_usd: pricing.output_per_1m_tokens_usd,
    }),
    ...(priceSource !== undefined && { cost_source: priceSource }),
    ...(modalities !== undefined && { modalities: [...modalities] }),
    exposed,
  }
}
