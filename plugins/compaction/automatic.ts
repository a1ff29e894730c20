import type { ModelRequest } from '#contracts/model/client'
import type { ActiveRun } from '#contracts/run/active-run'
import { estimateTokens, transcriptTokens } from '#contracts/run/token-estimate'
import { type CompactionWish, compact } from './compactor.js'
import type { Config } from './config.js'
import { strip } from './shorten.js'
import { zoneOf } from './turns.js'

/** A transcript that stays too long is tried again when it has grown by this share of the window. */
const GROWTH = 0.05
const LAST = Symbol('compaction.last')

/**
 * Compacts before a turn is asked for when the context is fuller than the threshold. The request shows the transcript
 * itself, so it needs no change.
 */
export async function compactWhenFull(request: ModelRequest, run: ActiveRun, config: Config): Promise<void> {
  const window = run.modelFacts?.contextWindow ?? config.contextWindow
  const estimated =
    estimateTokens(request.system) + transcriptTokens(run.transcript) + transcriptTokens(request.trailing)
  const ratio = estimated / window
  if (ratio <= config.threshold) return
  const last = run.slot(LAST, () => ({ tokens: 0 }))
  const tokens = transcriptTokens(run.transcript)
  if (last.tokens > 0 && tokens < last.tokens + window * GROWTH) return
  last.tokens = tokens
  if (!mayShrink(run, config)) return
  const { mode, threshold } = config
  run.emit('auto_compact.started', { estimated_tokens: estimated, context_window: window, threshold, ratio, mode })
  const { mode: usedMode, after, error } = await compactOrStrip(run, config)
  last.tokens = after
  run.emit('auto_compact.completed', {
    before_tokens: tokens,
    after_tokens: after,
    mode: usedMode,
    ...(error !== undefined && { error }),
  })
}

/** Would anything be taken out at all? Keeps events and model calls away from a transcript that cannot be shortened. */
function mayShrink(run: ActiveRun, { mode, keepLast }: Config): boolean {
  const { from, to } = zoneOf(run.transcript, keepLast)
  const zone = run.transcript.slice(from, to)
  return mode === 'summarize' ? zone.length > 1 : strip(zone).calls.length > 0
}

async function compactOrStrip(run: ActiveRun, config: Config) {
  const wish: CompactionWish = { mode: config.mode, keepLast: config.keepLast }
  const first = await compact(run, wish, config)
  if (first.kind !== 'failed') return { mode: config.mode, after: tokensOf(run) }
  await compact(run, { ...wish, mode: 'strip' }, config)
  return { mode: 'strip', after: tokensOf(run), error: first.error }
}

const tokensOf = (run: ActiveRun): number => transcriptTokens(run.transcript)
