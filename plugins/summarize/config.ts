import { type Static, Type } from '@sinclair/typebox'

/** Settings of the plugin, as `[plugins.summarize]` takes them. */
export const SummarizeConfig = Type.Object({
  model: Type.String({
    default: '',
    setting: 'role_model_summarizer',
    description: 'Model that writes summaries; empty: the default model.',
  }),
  timeout_seconds: Type.Number({
    default: 120,
    exclusiveMinimum: 0,
    maximum: 3600,
    description: 'How long a summary may take, retries and other providers included.',
  }),
  max_concurrent: Type.Integer({
    default: 8,
    minimum: 1,
    maximum: 1000,
    description: 'Summaries written at the same time; one tenant gets half of them.',
  }),
  max_output_tokens: Type.Integer({ default: 4096, minimum: 16, description: 'Longest summary, in tokens.' }),
  context_window: Type.Integer({
    default: 128_000,
    minimum: 1024,
    description: 'Tokens the model can read, where nobody knows.',
  }),
})
export type SummarizeConfig = Readonly<Static<typeof SummarizeConfig>>
