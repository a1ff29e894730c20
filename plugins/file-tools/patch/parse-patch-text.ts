import { isBeginPatch, parseBeginPatch } from './begin-patch.js'
import { type FileChange, fault, isFault, type PatchFault } from './file-change.js'
import { parseUnified } from './unified.js'

/** Longer patches are refused before they are read. */
export const MAX_PATCH_CHARS = 1_000_000
const MAX_HUNKS = 1000
const MAX_FILES = 200

/** Reads a patch in any accepted style. `path` is used where a diff names no file. */
export function parsePatchText(text: string, path: string | undefined): readonly FileChange[] | PatchFault {
  if (text.length > MAX_PATCH_CHARS)
    return fault(`The patch is longer than ${MAX_PATCH_CHARS} characters. Send it in parts.`)
  // Counted before anything is parsed: that would take long.
  if (countOf(text, '\n@@') > MAX_HUNKS || countOf(text, '\n--- ') > MAX_FILES) return TOO_MANY
  const plain = withoutFence(text)
  const changes = isBeginPatch(plain) ? parseBeginPatch(plain) : parseUnified(plain, path)
  if (isFault(changes)) return changes
  const hunks = changes.reduce((sum, change) => sum + (change.kind === 'add' ? 1 : change.hunks.length), 0)
  if (changes.length > MAX_FILES || hunks > MAX_HUNKS) return TOO_MANY
  return changes
}

const TOO_MANY = fault(`The patch has more than ${MAX_FILES} files or ${MAX_HUNKS} hunks. Send it in parts.`)

function countOf(text: string, part: string): number {
  let count = 0
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count++
  return count
}

/** Every path a patch text would touch; empty when it cannot be read, as then nothing is touched. */
export function pathsOf(text: string, path: string | undefined): readonly string[] {
  const changes = parsePatchText(text, path)
  if (isFault(changes)) return []
  return changes.flatMap(change =>
    change.kind === 'update' && change.moveTo !== undefined ? [change.path, change.moveTo] : [change.path],
  )
}

/** A patch that came inside a Markdown code fence. */
function withoutFence(text: string): string {
  const [, inner] = /^\s*```[a-z]*\n([\s\S]*?)\n?```\s*$/.exec(text) ?? []
  return inner ?? text
}
