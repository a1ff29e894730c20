import { type Static, Type } from '@sinclair/typebox'
import type { ModelClient, ModelFailure } from './client.js'

const words = (description: string) => Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description }))
const usdPerMillion = (description: string) => Type.Number({ minimum: 0, description })

/** Prices of a model in US dollars per million tokens. */
export const Pricing = Type.Object(
  {
    input_per_1m_tokens_usd: usdPerMillion('Prompt tokens.'),
    output_per_1m_tokens_usd: usdPerMillion('Completion tokens.'),
    cache_read_per_1m_tokens_usd: Type.Optional(usdPerMillion('Prompt tokens read from a cache; absent: as input.')),
    cache_write_per_1m_tokens_usd: Type.Optional(usdPerMillion('Prompt tokens put into a cache; absent: as input.')),
  },
  { additionalProperties: false },
)
export type Pricing = Readonly<Static<typeof Pricing>>

/** One model of a provider, as a catalog file and a deployment write it. Everything but the window may be unknown. */
export const ModelEntry = Type.Object(
  {
    display_name: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    context_window: Type.Integer({ minimum: 1, description: 'Tokens.' }),
    max_output_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
    modalities: words('What it takes in: `text`, `image`.'),
    tool_calling: Type.Optional(Type.Boolean()),
    parallel_tool_calls: Type.Optional(Type.Boolean()),
    streaming: Type.Optional(Type.Boolean()),
    reasoning_mode: Type.Optional(Type.Boolean()),
    quirks: words('As those of the provider, for this model only.'),
    strengths: words('For people who choose.'),
    weaknesses: words('For people who choose.'),
    best_for: words('For people who choose.'),
    speed_tier: Type.Optional(Type.Union(['ultra-fast', 'fast', 'medium', 'slow'].map(tier => Type.Literal(tier)))),
    cost_tier: Type.Optional(Type.Union(['budget', 'low', 'standard', 'premium'].map(tier => Type.Literal(tier)))),
    api: Type.Optional(
      Type.Union([Type.Literal(''), Type.Literal('responses')], {
        description: 'Endpoint of an OpenAI-compatible provider; empty: chat completions.',
      }),
    ),
    pricing: Type.Optional(Pricing),
  },
  { additionalProperties: false },
)
export type ModelEntry = Readonly<Static<typeof ModelEntry>>

/** Behaviours wires know by tag; a tag no wire knows is information for people. */
export const QUIRKS = Object.freeze({
  /** Thinking text of earlier turns is sent back. */
  reasoningPassback: 'reasoning_content_passback',
  /** `parallel_tool_calls: false` is sent with tools. */
  noParallelToolCalls: 'no_parallel_tool_calls',
})

/** A provider as data. Its name is the key it is listed under. */
export const ProviderEntry = Type.Object(
  {
    display_name: Type.Optional(Type.String()),
    base_url: Type.String({ minLength: 1, description: 'Root of its API: absolute, http or https.' }),
    base_url_env: Type.Optional(
      Type.String({ description: 'Variable that overrides `base_url`, as the vendor names it.' }),
    ),
    api_key_env: Type.Optional(Type.String({ description: 'Variable that holds the key.' })),
    api_key_optional: Type.Optional(Type.Boolean({ description: 'Answers without a key (local servers).' })),
    token_source_required: Type.Optional(Type.Boolean({ description: 'Takes an imported vendor session, not a key.' })),
    models_from: Type.Optional(Type.String({ description: 'Provider whose models (and aliases) these are too.' })),
    protocol: Type.String({ minLength: 1, description: 'What it speaks: the name of a wire.' }),
    quirks: words('Behaviours of its API.'),
    model_prefix: Type.Optional(Type.String({ description: 'Put in front of model ids on the wire.' })),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'Sent with every request. Never secrets.' }),
    ),
    lists_models: Type.Optional(Type.Boolean({ description: 'Its model list is worth refreshing.' })),
    is_aggregator: Type.Optional(Type.Boolean({ description: 'Takes model ids with a `/` that nobody else has.' })),
    is_hidden: Type.Optional(Type.Boolean({ description: 'Not shown in lists of providers and models.' })),
    models: Type.Record(Type.String(), ModelEntry),
    aliases: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'Alias → alias or model id.' })),
  },
  { additionalProperties: false },
)
export type ProviderEntry = Readonly<Static<typeof ProviderEntry>>

/** What a plugin contributes to `PROVIDER_ENTRIES`: providers, by name. */
export interface ProviderCatalog {
  /** Shown as the pricing version of what is priced by it. */
  readonly version: string
  readonly providers: Readonly<Record<string, ProviderEntry>>
  /** A price list of its own, by provider and model id, of models listed here or not. It wins over `pricing`. */
  readonly prices?: {
    readonly version: string
    readonly models: Readonly<Record<string, Readonly<Record<string, Pricing>>>>
  }
  /** Of two catalogs that name the same provider the higher rank wins, whole. Default 0. */
  readonly rank?: number
}

/** What a request is sent with. Never logged, never part of a message. */
export interface Credential {
  readonly secret: string
  /** Sent besides the secret, such as the account a session belongs to. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Asked for every request; undefined: send none. May refresh a session first and then takes its time. Rejects with a
 * `Failure` that says what to do when there is nothing to send that would be accepted.
 */
export type CredentialSource = (signal: AbortSignal) => Credential | undefined | Promise<Credential | undefined>

/** What a wire has to know of a model to ask it. */
export interface ModelTraits {
  readonly api: '' | 'responses'
  readonly quirks: ReadonlySet<string>
  readonly maxOutputTokens?: number
}

/** What a wire opens a connection with. */
export interface WireOptions {
  readonly provider: string
  /** Checked to be absolute http(s), without user and password. */
  readonly baseUrl: string
  readonly credential: CredentialSource
  readonly headers: Readonly<Record<string, string>>
  readonly modelPrefix: string
  /** Of the id as it stands in a request, before the prefix. An unknown id has the provider's quirks and nothing else. */
  traits(model: string): ModelTraits
}

/** A provider's own list of models, as it sent it; `body` is parsed JSON. */
export type FetchedModels =
  | { readonly kind: 'listed'; readonly body: unknown }
  | { readonly kind: 'failed'; readonly failure: ModelFailure }

/** A client of one provider, with the rest of what its API offers. Connections are made on demand. */
export interface ModelConnection extends ModelClient {
  /** `GET <base>/models`, at most 8 MiB. Never rejects; a fired signal ends it as `cancelled`. */
  fetchModels(signal: AbortSignal): Promise<FetchedModels>
  /** Ends every socket; turns in flight fail. */
  close(): Promise<void>
}

/** A way to talk to providers, contributed to `MODEL_WIRES`. */
export interface ModelWire {
  /** Values of a provider's `protocol` this wire speaks. */
  readonly protocols: readonly string[]
  /** Opens no socket yet. Throws a `Failure` (`not_configured`) for options it cannot work with. */
  open(options: WireOptions): ModelConnection
}
