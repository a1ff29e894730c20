import { type Static, Type } from '@sinclair/typebox'
import { Failure } from '#contracts/errors'
import { AUTH_KINDS, type Cost } from './setting.js'

const usd = (description: string) => Type.Optional(Type.Number({ minimum: 0, maximum: 1_000_000, description }))

export const ProviderBody = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 64 }),
  base_url: Type.String({ minLength: 1, maxLength: 2048, description: 'Root of its API.' }),
  protocol: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Default: openai_compat.' })),
  auth_kind: Type.Optional(Type.Union(AUTH_KINDS.map(kind => Type.Literal(kind)))),
  key_ref: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description: 'Where the key is: env:<NAME>, file:<path> or, on macOS, keychain:<service>/<account>.',
    }),
  ),
  api_key: Type.Optional(
    Type.String({ minLength: 1, maxLength: 8192, description: 'The key itself. It cannot be read back.' }),
  ),
})

export const ExposeBody = Type.Object({
  exposed: Type.Union([Type.Boolean(), Type.Record(Type.String({ minLength: 1, maxLength: 256 }), Type.Boolean())], {
    description: 'The whole provider, or its models by id.',
  }),
})

export const CostBody = Type.Object({
  model: Type.String({ minLength: 1, maxLength: 256 }),
  input: usd('US dollars per million prompt tokens.'),
  output: usd('US dollars per million completion tokens.'),
  input_per_1m_tokens_usd: usd('The same as `input`.'),
  output_per_1m_tokens_usd: usd('The same as `output`.'),
})

/** The price of either spelling. Throws `invalid_request` when one is missing, or both are there and differ. */
export function costOf(body: Static<typeof CostBody>): Cost {
  return {
    input: one('input', body.input, body.input_per_1m_tokens_usd),
    output: one('output', body.output, body.output_per_1m_tokens_usd),
  }
}

function one(field: string, short: number | undefined, long: number | undefined): number {
  if (short !== undefined && long !== undefined && short !== long)
    throw new Failure(
      'invalid_request',
      `${field}: ${field}_per_1m_tokens_usd says another price; leave one of them out`,
    )
  const usdPerMillion = short ?? long
  if (usdPerMillion === undefined)
    throw new Failure('invalid_request', `${field} is missing; it must be a number of at least 0`)
  return usdPerMillion
}
