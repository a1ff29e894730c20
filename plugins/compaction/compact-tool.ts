import { Type } from '@sinclair/typebox'
import type { ActiveRun } from '#contracts/run/active-run'
import { defineTool } from '#contracts/tool/tool'
import { type Compacted, type CompactionWish, compact } from './compactor.js'
import { CompactionMode, type Config } from './config.js'

export const DEFAULT_KEPT_TURNS = 4
export const MAX_KEPT_TURNS = 1000

/** `compact_history`: the model makes its own context shorter. */
export const compactTool = (config: Config) =>
  defineTool({
    name: 'compact_history',
    description:
      'Shorten the conversation so far to make room. strip takes out old tool calls and results, summarize replaces old turns by a summary, hybrid keeps small results and summarises large ones.',
    parameters: Type.Object({
      mode: CompactionMode,
      keep_last: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: MAX_KEPT_TURNS,
          description: `Newest turns that stay as they are; default ${DEFAULT_KEPT_TURNS}.`,
        }),
      ),
    }),
    action: 'execute',
    tags: ['context', 'memory'],
    async execute({ mode, keep_last: keepLast = DEFAULT_KEPT_TURNS }, { run }) {
      const compacted = await compactAndTell(run, { mode, keepLast }, config)
      if (compacted.kind === 'failed') return { error: `the summary could not be written: ${compacted.error}` }
      if (compacted.kind === 'ended') return { error: 'the run is over' }
      if (compacted.kind === 'unchanged')
        return { output: { before_tokens: compacted.tokens, after_tokens: compacted.tokens, turns_compacted: 0 } }
      const { beforeTokens, afterTokens, turnsCompacted } = compacted
      return {
        output: { before_tokens: beforeTokens, after_tokens: afterTokens, turns_compacted: turnsCompacted },
      }
    },
  })

/** Compacts because somebody asked for it, and says so in the run's log. */
export async function compactAndTell(run: ActiveRun, wish: CompactionWish, config: Config): Promise<Compacted> {
  const startedAt = performance.now()
  const compacted = await compact(run, wish, config)
  if (compacted.kind === 'failed' || compacted.kind === 'ended') return compacted
  run.emit('compact_history.completed', {
    message_count: run.transcript.length,
    duration_ms: Math.round(performance.now() - startedAt),
    ...(config.show_tokens && tokensOf(compacted)),
  })
  return compacted
}

const tokensOf = (compacted: Exclude<Compacted, { kind: 'failed' | 'ended' }>) =>
  compacted.kind === 'compacted'
    ? { before_tokens: compacted.beforeTokens, after_tokens: compacted.afterTokens, tokens_estimated: true }
    : { before_tokens: compacted.tokens, after_tokens: compacted.tokens, tokens_estimated: true }
