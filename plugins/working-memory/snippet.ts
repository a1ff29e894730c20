import type { ActiveRun } from '#contracts/run/active-run'
import type { Entries, WorkingMemory } from './memory.js'

const SNIPPET = Symbol('working-memory.snippet')

/** What the model is shown before a turn; undefined when nothing is kept. Read once, and again after a change by this run. */
export async function snippetFor(run: ActiveRun, memory: WorkingMemory): Promise<string | undefined> {
  const slot = run.slot<{ text?: Promise<string | undefined> | undefined }>(SNIPPET, () => ({}))
  slot.text ??= memory.read(run).then(render)
  return slot.text
}

export function forgetSnippet(run: ActiveRun): void {
  run.slot<{ text?: Promise<string | undefined> | undefined }>(SNIPPET, () => ({})).text = undefined
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
