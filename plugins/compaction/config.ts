import { type Static, Type } from '@sinclair/typebox'

/** How a transcript is made shorter. */
export const CompactionMode = Type.Union([Type.Literal('strip'), Type.Literal('summarize'), Type.Literal('hybrid')])
export type CompactionMode = Static<typeof CompactionMode>

export const Config = Type.Object({
  automatic: Type.Boolean({ default: false, setting: 'auto_compact.enabled' }),
  mode: Type.Union(CompactionMode.anyOf, { default: 'hybrid', setting: 'auto_compact.mode' }),
  threshold: Type.Number({ default: 0.8, exclusiveMinimum: 0, maximum: 1, setting: 'auto_compact.threshold' }),
  keep_last: Type.Integer({
    default: 8,
    minimum: 1,
    setting: 'auto_compact.keep_last',
    description: 'Newest turns that stay as they are.',
  }),
  context_window: Type.Integer({
    default: 128_000,
    minimum: 1,
    setting: 'auto_compact.model_context_window',
    description: 'Tokens, where the window of the model is not known.',
  }),
  summarizer_model: Type.String({ default: '', setting: 'role_model_summarizer' }),
  show_tokens: Type.Boolean({
    default: false,
    setting: 'forensics.context_window_snapshot_enabled',
    description: 'Put token counts into compact_history.completed.',
  }),
})
export type Config = Readonly<Static<typeof Config>>
