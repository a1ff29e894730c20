import { type Static, Type } from '@sinclair/typebox'

/** Settings of the plugin, as `[plugins.live-models]` takes them. */
export const LiveModelsConfig = Type.Object({
  automatic: Type.Boolean({
    default: true,
    env: 'SVC_LIVE_MODELS',
    description:
      'Whether anybody is asked; off, only the catalog and what is fetched by hand say which models there are.',
  }),
  refresh_seconds: Type.Number({
    default: 300,
    minimum: 10,
    maximum: 86_400,
    description: 'How old a model list may get before it is asked for again.',
  }),
  timeout_seconds: Type.Number({
    default: 10,
    minimum: 0.1,
    maximum: 300,
    description: 'How long a provider may take to list its models.',
  }),
})
export type LiveModelsConfig = Readonly<Static<typeof LiveModelsConfig>>
