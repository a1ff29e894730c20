import type { ActiveRun } from '#contracts/run/active-run'
import type { Entries, WorkingMemory } from './memory.js'

const SLOT = Symbol('working-memory.snippet')

interface Slot {
  text?: Promise<string | undefined> | undefined
  hasWritten: boolean
}

const slotOf = (run: ActiveRun): Slot => run.slot<Slot>(SLOT, () => ({ hasWritten: false }))

/** What the model is shown before a turn; undefined when nothing is kept. Read once, and again after a change by this run. */
export function snippetFor(run: ActiveRun, memory: WorkingMemory): Promise<string | undefined> {
  const slot = slotOf(run)
  slot.text ??= isSurelyEmpty(run, slot) ? Promise.resolve(undefined) : memory.read(run).then(render)
  return slot.text
}

/** A conversation that began with this run holds what this run wrote, and nothing else. */
const isSurelyEmpty = (run: ActiveRun, { hasWritten }: Slot): boolean =>
  run.conversationId === run.id && !run.isResumed && !hasWritten

/** This run changed what is kept. */
export function noteChange(run: ActiveRun): void {
  const slot = slotOf(run)
  slot.hasWritten = true
  slot.text = undefined
}

/** It could not be read; the next turn tries again. */
export function forgetSnippet(run: ActiveRun): void {
  slotOf(run).text = undefined
}

function render(entries: Entries): string | undefined {
  const keys = Object.keys(entries).toSorted()
  if (keys.length === 0) return undefined
  return ['<working-memory>', ...keys.map(key => `${plain(key)}: ${plain(entries[key])}`), '</working-memory>'].join(
    '\n',
  )
}

/** JSON on one line; no value can pretend to end the block. */
const plain = (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c')
