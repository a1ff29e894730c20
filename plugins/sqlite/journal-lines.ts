import type { JournalEntry } from '#contracts/store/run-store'
import type { Value } from './protocol.js'

/**
 * Entries as arguments: `[rows, (note key or null, lines)…]`. Entries that follow each other share a row; a note has its
 * own, since a later one of its key takes its place.
 */
export function journalArguments(journal: readonly JournalEntry[]): readonly Value[] {
  const values: Value[] = [0]
  let rows = 0
  let lines: string[] = []
  const close = (note: string | null) => {
    if (lines.length === 0) return
    values.push(note, lines.join('\n'))
    lines = []
    rows += 1
  }
  for (const entry of journal) {
    const isNote = entry.kind === 'note'
    if (isNote) close(null)
    lines.push(JSON.stringify(entry))
    if (isNote) close(entry.key)
  }
  close(null)
  values[0] = rows
  return values
}

/** Stored lines as entries again, in order. */
export function journalFrom(lines: string): readonly JournalEntry[] {
  return lines === '' ? [] : lines.split('\n').map(line => JSON.parse(line) as JournalEntry)
}
