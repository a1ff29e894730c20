import type { ModelRequest } from '#contracts/model/client'
import type { ActiveRun } from '#contracts/run/active-run'
import { estimateTokens, transcriptTokens } from '#contracts/run/token-estimate'
import { type CompactionWish, compact } from './compactor.js'
import type { CompactionMode, Config } from './config.js'
import { zoneOf } from './turns.js'

/** A transcript that stays too long is tried again when it has grown by this share of the window. */
const GROWTH = 0.05
const LAST = Symbol('compaction.last')

/**
 * Compacts before a turn is asked for when the context is fuller than the threshold. The request shows the transcript
 * itself, so it needs no change.
 */
export async function compactWhenFull(request: ModelRequest, run: ActiveRun, config: Config): Promise<void> {
  const window = run.modelFacts?.contextWindow ?? config.context_window
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
  const room = threshold * window - (estimated - tokens)
  const { used, after, error } = await shorten(run, room, config)
  last.tokens = after
  run.emit('auto_compact.completed', {
    before_tokens: tokens,
    after_tokens: after,
    mode: used,
    ...(error !== undefined && { error }),
  })
}

/** Would anything be taken out at all? Keeps events and model calls away from a transcript that cannot be shortened. */
function mayShrink(run: ActiveRun, { keep_last }: Config): boolean {
  const { start, to } = zoneOf(run.transcript, keep_last)
  return to - start > 1
}

/** From the mildest on; what one leaves too long is given to the next. */
const MODES: readonly CompactionMode[] = ['hybrid', 'strip', 'summarize']

/** The configured mode, then stronger ones until the transcript has `room`. A summary that fails is not asked for again. */
async function shorten(run: ActiveRun, room: number, config: Config) {
  const wish = (mode: CompactionMode): CompactionWish => ({ mode, keepLast: config.keep_last })
  let used = config.mode
  let error: string | undefined
  for (const mode of MODES.slice(MODES.indexOf(config.mode))) {
    if (mode !== config.mode && (tokensOf(run) <= room || (mode === 'summarize' && error !== undefined))) break
    const compacted = await compact(run, wish(mode), config)
    if (compacted.kind === 'compacted') used = mode
    else if (compacted.kind === 'failed') error = compacted.error
  }
  if (error !== undefined && config.mode === 'summarize') {
    await compact(run, wish('strip'), config)
    used = 'strip'
  }
  return { used, after: tokensOf(run), error }
}

const tokensOf = (run: ActiveRun): number => transcriptTokens(run.transcript)
