import type { ActiveRun } from '#contracts/run/active-run'
import type { Message } from '#contracts/run/message'
import { transcriptTokens } from '#contracts/run/token-estimate'
import type { CompactionMode, Config } from './config.js'
import { countIn, isMarker, markerOf, noteOf, toldBy } from './marker.js'
import { phaseOf } from './moment.js'
import { strip, stripLarge } from './shorten.js'
import { type SummaryOptions, summariseMessages, summariseOutputs } from './summary.js'
import { type Zone, zoneOf } from './turns.js'

/** What is wanted of a compaction. */
export interface CompactionWish {
  readonly mode: CompactionMode
  /** Newest turns that stay as they are; at least 1. */
  readonly keepLast: number
  /** Something the summary is to preserve. */
  readonly instruction?: string
}

/** `unchanged`: there was nothing to take out. `failed`: nothing was done, because the summary could not be written. */
export type Compacted =
  | {
      readonly kind: 'compacted'
      readonly beforeTokens: number
      readonly afterTokens: number
      readonly messagesRemoved: number
      readonly turnsCompacted: number
      readonly summary: string
    }
  | { readonly kind: 'unchanged'; readonly tokens: number }
  | { readonly kind: 'failed'; readonly error: string }
  /** The run was over before its transcript could be changed. */
  | { readonly kind: 'ended' }

/** What stands in the place of a zone, or why nothing does. */
type Replacement =
  | {
      readonly kind: 'replaced'
      readonly messages: readonly Message[]
      readonly summary: string
      readonly removed: number
    }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'failed'; readonly error: string }

const QUEUE = Symbol('compaction.queue')

/**
 * Makes the transcript of a run shorter, one compaction of a run at a time. It may be called at any moment of a run: the
 * turn whose calls are being answered is never touched, and what was said while a summary was written stays.
 */
export function compact(run: ActiveRun, wish: CompactionWish, config: Config): Promise<Compacted> {
  const queue = run.slot(QUEUE, () => ({ last: Promise.resolve() as Promise<unknown> }))
  const work = queue.last.then(() => compactNow(run, wish, config))
  queue.last = work.catch(() => undefined)
  return work
}

async function compactNow(run: ActiveRun, wish: CompactionWish, config: Config): Promise<Compacted> {
  if (phaseOf(run) === 'early') return { kind: 'unchanged', tokens: transcriptTokens(run.transcript) }
  const zone = zoneOf(run.transcript, wish.keepLast)
  const upToEnd = run.transcript.slice(0, zone.to)
  const options = {
    model: run.request.role_models?.summarizer || config.summarizer_model,
    instruction: wish.instruction ?? '',
    windowTokens: run.modelFacts?.contextWindow ?? config.context_window,
  }
  const touched = upToEnd.slice(zone.from)
  const stretch = { earlier: touched.filter(isMarker), messages: touched.filter(message => !isMarker(message)) }
  const replacement = await replace(run, stretch, wish.mode, options)
  if (replacement.kind === 'failed') return replacement
  if (replacement.kind === 'unchanged') return { kind: 'unchanged', tokens: transcriptTokens(run.transcript) }
  return put(run, zone, upToEnd, replacement)
}

/** A zone: the markers of earlier compactions, and what was said since. */
interface Stretch {
  readonly earlier: readonly Message[]
  readonly messages: readonly Message[]
}

async function replace(
  run: ActiveRun,
  { earlier, messages: zone }: Stretch,
  mode: CompactionMode,
  options: SummaryOptions,
): Promise<Replacement> {
  if (zone.length === 0) return { kind: 'unchanged' }
  if (mode === 'summarize') {
    const summary = await summariseMessages(run, [...earlier, ...zone], options)
    if (summary.kind === 'failed') return summary
    const text = `Summary of the ${zone.length} messages that stood here:\n\n${summary.text}`
    return { kind: 'replaced', messages: [markerOf(text)], summary: text, removed: zone.length }
  }
  const { messages, dropped, calls } = mode === 'strip' ? strip(zone) : stripLarge(zone)
  if (dropped === 0 && calls.length === 0) return { kind: 'unchanged' }
  const replaced = (text: string): Replacement => ({
    kind: 'replaced',
    messages: [markerOf(text), ...messages],
    summary: text,
    removed: dropped,
  })
  const [note, before] = [noteOf(countIn(earlier) + dropped), toldBy(earlier)]
  if (mode === 'strip' || calls.length === 0) return replaced(before === '' ? note : `${note}\n\n${before}`)
  const summary = await summariseOutputs(run, calls, before, options)
  return summary.kind === 'failed' ? summary : replaced(`${note} What they showed:\n\n${summary.text}`)
}

function put(
  run: ActiveRun,
  { from, to, turns }: Zone,
  seen: readonly Message[],
  { messages, summary, removed }: Extract<Replacement, { kind: 'replaced' }>,
): Compacted {
  const { transcript } = run
  if (phaseOf(run) === 'closed') return { kind: 'ended' }
  if (seen.some((message, index) => transcript[index] !== message))
    return { kind: 'failed', error: 'the conversation was rewritten while its summary was being made' }
  const beforeTokens = transcriptTokens(transcript)
  run.rewriteTranscript([...seen.slice(0, from), ...messages, ...transcript.slice(to)])
  return {
    kind: 'compacted',
    beforeTokens,
    afterTokens: transcriptTokens(run.transcript),
    messagesRemoved: removed,
    turnsCompacted: turns,
    summary,
  }
}
