import { diffLibrary } from './diff-library.js'

const CONTEXT_LINES = 3
/** Above this the changed region is not compared line by line: that could take long. */
const MAX_REGION_CHARS = 200_000
/** Texts above this are not compared at all. */
const MAX_COMPARED_CHARS = 2_000_000
/** Enough to check a change by; a model that wrote more knows what it wrote. */
const MAX_DIFF_CHARS = 4_000
const COMPARE_CHARS = 65_536
/** Texts this short are compared within a millisecond; a clock would only make the answer depend on the machine's load. */
const QUICK_CHARS = 4_000
const DIFF_TIMEOUT_MS = 30

/** How a change is shown. */
export interface Shown {
  /** What the file was called before. */
  readonly from?: string
  readonly maxChars?: number
}

/** A unified diff for the model to check its change by; cut when long, empty when nothing changed. */
export function describeChange(
  path: string,
  before: string,
  after: string,
  { from = path, maxChars = MAX_DIFF_CHARS }: Shown = {},
): string {
  if (before === after) return ''
  if (before.includes('\0') || after.includes('\0')) return `(binary content of ${path} changed)\n`
  if (before.length + after.length > MAX_COMPARED_CHARS)
    return `--- a/${from}\n+++ b/${path}\n(too large to show: ${before.length} characters became ${after.length})\n`
  const start = lineStart(before, commonPrefix(before, after), CONTEXT_LINES)
  const same = commonSuffix(before, after, start)
  const tail = Math.max(0, same - lineTail(before, before.length - same, CONTEXT_LINES))
  const old = before.slice(start, before.length - tail)
  const fresh = after.slice(start, after.length - tail)
  const firstLine = countLines(before, start)
  const header = `--- a/${from}\n+++ b/${path}\n`
  const hunks =
    old.length + fresh.length > MAX_REGION_CHARS
      ? undefined
      : diffLibrary().structuredPatch('', '', old, fresh, '', '', {
          context: CONTEXT_LINES,
          ...(old.length + fresh.length > QUICK_CHARS && { timeout: DIFF_TIMEOUT_MS }),
          maxEditLength: 1000,
        })?.hunks
  if (!hunks)
    return `${header}(too large to show: from line ${firstLine + 1} on, ${old.length} characters became ${fresh.length})\n`
  const body = hunks.map(hunk => {
    // A side without lines is named by the line before it.
    const left = `-${hunk.oldStart + firstLine - (hunk.oldLines === 0 ? 1 : 0)},${hunk.oldLines}`
    const right = `+${hunk.newStart + firstLine - (hunk.newLines === 0 ? 1 : 0)},${hunk.newLines}`
    return `@@ ${left} ${right} @@\n${hunk.lines.join('\n')}\n`
  })
  const diff = header + body.join('')
  return diff.length <= maxChars ? diff : cutAfterLine(diff, maxChars)
}

function cutAfterLine(diff: string, maxChars: number): string {
  const end = diff.lastIndexOf('\n', maxChars) + 1 || maxChars
  return `${diff.slice(0, end)}(diff cut: ${countLines(diff, diff.length) - countLines(diff, end)} more lines)\n`
}

/** Compared in blocks: an engine compares those as memory. */
function commonPrefix(a: string, b: string): number {
  const limit = Math.min(a.length, b.length)
  let at = 0
  while (at < limit && a.slice(at, at + COMPARE_CHARS) === b.slice(at, at + COMPARE_CHARS)) at += COMPARE_CHARS
  at = Math.min(at, limit)
  while (at < limit && a.charCodeAt(at) === b.charCodeAt(at)) at++
  return at
}

function commonSuffix(a: string, b: string, notBefore: number): number {
  const limit = Math.min(a.length, b.length) - notBefore
  let same = 0
  const block = (text: string) => text.slice(text.length - same - COMPARE_CHARS, text.length - same)
  while (same + COMPARE_CHARS <= limit && block(a) === block(b)) same += COMPARE_CHARS
  while (same < limit && a.charCodeAt(a.length - 1 - same) === b.charCodeAt(b.length - 1 - same)) same++
  return same
}

/** Start of the line `back` lines above the one that holds `position`. */
function lineStart(text: string, position: number, back: number): number {
  let at = position
  for (let line = 0; line <= back && at > 0; line++)
    at = line === 0 ? text.lastIndexOf('\n', at - 1) + 1 : text.lastIndexOf('\n', at - 2) + 1
  return at
}

/** Characters from `position` to the end of the line `ahead` lines below the one that holds it. */
function lineTail(text: string, position: number, ahead: number): number {
  let at = position
  for (let line = 0; line <= ahead; line++) {
    const end = text.indexOf('\n', at)
    if (end === -1) return text.length - position
    at = end + 1
  }
  return at - position
}

function countLines(text: string, end: number): number {
  let lines = 0
  for (let at = text.indexOf('\n'); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) lines++
  return lines
}
