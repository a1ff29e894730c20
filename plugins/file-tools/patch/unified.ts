import type { StructuredPatch, StructuredPatchHunk } from 'diff'
import { messageOf } from '#contracts/errors'
import { diffLibrary } from '../diff-library.js'
import { type FileChange, fault, type Hunk, type HunkLine, type PatchFault } from './file-change.js'

const NO_FILE = '/dev/null'
const EXECUTABLE = '100755'

/** Reads a unified diff, also git's. Hunk headers with wrong or no counts are put right where that can only mean one thing. */
export function parseUnified(text: string, fallbackPath: string | undefined): readonly FileChange[] | PatchFault {
  const patches = parseLeniently(text)
  if (!Array.isArray(patches)) return patches as PatchFault
  const changes: FileChange[] = []
  for (const patch of patches as readonly StructuredPatch[]) {
    const change = toChange(patch, fallbackPath)
    if (!change) continue
    if (change.kind === 'fault') return change
    changes.push(change)
  }
  if (changes.length > 0) return changes
  return fault('No change was found in the patch. Send a unified diff (---, +++, @@) or the "*** Begin Patch" style.')
}

function parseLeniently(text: string): readonly StructuredPatch[] | PatchFault {
  const ended = text.endsWith('\n') ? text : `${text}\n`
  const strict = parse(ended)
  // The library passes over "@@" lines without numbers.
  const isComplete = Array.isArray(strict) && strict.flatMap(patch => patch.hunks).length > 0
  if (isComplete || !/^@@/m.test(ended)) return strict
  const lenient = parse(recount(ended))
  return Array.isArray(lenient) ? lenient : strict
}

function parse(text: string): readonly StructuredPatch[] | PatchFault {
  try {
    return diffLibrary().parsePatch(text)
  } catch (error) {
    return fault(`The diff cannot be read: ${messageOf(error)}. Check the hunk headers, or use the edit tool.`)
  }
}

function toChange(patch: StructuredPatch, fallbackPath: string | undefined): FileChange | PatchFault | undefined {
  const { from, to } = names(patch)
  const path = (to === NO_FILE ? from : to) ?? from ?? fallbackPath
  if (patch.isBinary) return fault(`The diff of ${path ?? 'a file'} is binary. Only text can be patched.`)
  if (patch.isCopy) return fault('Copies in a diff are not supported. Add the new file with its content.')
  const hunks = patch.hunks.map((hunk, index) => toHunk(hunk, index))
  if (path === undefined)
    return hunks.length > 0 ? fault('The diff names no file. Add ---/+++ lines or give path.') : undefined
  if (from === NO_FILE || patch.isCreate) return added(path, hunks, patch.newMode === EXECUTABLE)
  if (to === NO_FILE || patch.isDelete) return { kind: 'delete', path: from ?? path, hunks }
  if (patch.oldMode !== undefined && patch.newMode !== undefined && patch.oldMode !== patch.newMode)
    return fault(`The diff changes the mode of ${path}. Leave that out of it, and use chmod in bash.`)
  if (patch.isRename && from !== undefined && to !== undefined && from !== to)
    return { kind: 'update', path: from, moveTo: to, hunks }
  return hunks.length > 0 ? { kind: 'update', path, hunks } : undefined
}

function added(path: string, hunks: readonly Hunk[], isExecutable: boolean): FileChange | PatchFault {
  const lines = hunks.flatMap(hunk => hunk.lines)
  return lines.every(line => line.op === '+')
    ? { kind: 'add', path, content: lines.map(line => line.text).join(''), isExecutable }
    : fault(`${path} is said to be new, but its diff has lines that were there before.`)
}

/** Names without git's `a/` and `b/`. */
function names({ oldFileName, newFileName }: StructuredPatch): { readonly from?: string; readonly to?: string } {
  const isGit =
    (oldFileName === NO_FILE || oldFileName?.startsWith('a/')) &&
    (newFileName === NO_FILE || newFileName?.startsWith('b/'))
  const strip = (name: string | undefined) =>
    isGit && name !== undefined && name !== NO_FILE ? name.slice(2) : name === '' ? undefined : name
  const from = strip(oldFileName)
  const to = strip(newFileName)
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
}

function toHunk(hunk: StructuredPatchHunk, index: number): Hunk {
  const lines: HunkLine[] = []
  for (const line of hunk.lines) {
    const op = line[0]
    if (op === '\\') {
      const last = lines.pop()
      if (last) lines.push({ ...last, text: last.text.slice(0, -1) })
    } else if (op === '-' || op === '+') lines.push({ op, text: `${line.slice(1)}\n` })
    else lines.push({ op: ' ', text: `${line.slice(1)}\n` })
  }
  const isUntold = hunk.oldStart === UNTOLD
  const header = isUntold ? `hunk ${index + 1}` : `hunk ${index + 1} (@@ -${hunk.oldStart},${hunk.oldLines})`
  return { header, anchors: [], isAtEnd: false, lines, ...(!isUntold && { line: Math.max(0, hunk.oldStart - 1) }) }
}

/** Start line written into headers that told none. */
const UNTOLD = 999_999_999

/** Writes the true counts into every hunk header. */
function recount(text: string): string {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const result: string[] = []
  for (let at = 0; at < lines.length; ) {
    const line = lines[at++] ?? ''
    if (!line.startsWith('@@')) {
      result.push(line)
      continue
    }
    const body: string[] = []
    while (at < lines.length && !startsNext(lines, at)) body.push(lines[at++] || ' ')
    const count = (ops: string) => body.filter(entry => ops.includes(entry[0] ?? '')).length
    const [, from = UNTOLD, to = UNTOLD] = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line) ?? []
    result.push(`@@ -${from},${count(' -')} +${to},${count(' +')} @@`, ...body)
  }
  return `${result.join('\n')}\n`
}

const startsNext = (lines: readonly string[], at: number): boolean => {
  const line = lines[at] ?? ''
  return (
    line.startsWith('@@') ||
    line.startsWith('diff --git ') ||
    line.startsWith('Index: ') ||
    (line.startsWith('--- ') && (lines[at + 1] ?? '').startsWith('+++ '))
  )
}
