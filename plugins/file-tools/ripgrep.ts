import { spawn } from 'node:child_process'
import { JsonLines } from './json-lines.js'

export interface SearchRequest {
  readonly query: string
  readonly isRegex: boolean
  readonly isCaseSensitive: boolean
  readonly maxMatches: number
  readonly skippedFolders: readonly string[]
  /** The program's working directory. */
  readonly directory: string
  /** A file in it; undefined searches all of it. */
  readonly fileName: string | undefined
}

/** Where ripgrep says a match is. Its text is not here: it is read again through the workspace, which alone decides. */
export interface SearchHit {
  /** Relative to the searched directory. */
  readonly path: string
  readonly lineNumber: number
  /** Bytes from the start of the file to the part of the line that is shown. */
  readonly offset: number
  /** The part of the line that is shown; whole characters. */
  readonly shown: Buffer
  readonly isCutBefore: boolean
  readonly isCutAfter: boolean
}

export type SearchOutcome =
  | { readonly kind: 'found'; readonly hits: readonly SearchHit[]; readonly isTruncated: boolean }
  | { readonly kind: 'bad_query'; readonly message: string; readonly position?: number }
  | { readonly kind: 'failed'; readonly message: string }

const MAX_JSON_LINE_BYTES = 1024 * 1024
const MAX_SHOWN_BYTES = 500
const SHOWN_BEFORE_MATCH = 100
/** More than this a model does not read; it searches again. */
const MAX_SHOWN_TOTAL_BYTES = 64 * 1024
const MAX_ERROR_BYTES = 8192

/**
 * Runs ripgrep with an empty environment and no configuration. When this settles the process is gone, also after abort;
 * an abort answers with what was found so far.
 */
export async function searchFiles(request: SearchRequest, signal: AbortSignal): Promise<SearchOutcome> {
  const { rgPath } = await import('@vscode/ripgrep')
  if (signal.aborted) return { kind: 'found', hits: [], isTruncated: true }
  const child = spawn(rgPath, [...options(request), '--', request.query, `./${request.fileName ?? ''}`], {
    cwd: request.directory,
    env: {},
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stop = () => child.kill('SIGKILL')
  signal.addEventListener('abort', stop)
  const hits: SearchHit[] = []
  const lines = new JsonLines(MAX_JSON_LINE_BYTES)
  let isTruncated = false
  let shownBytes = 0
  let errors = ''
  try {
    child.stderr.on('data', (chunk: Buffer) => {
      if (errors.length < MAX_ERROR_BYTES) errors += chunk.toString()
    })
    child.stdout.on('data', (chunk: Buffer) => {
      if (isTruncated) return
      try {
        for (const message of lines.take(chunk)) {
          const hit = toHit(message)
          if (!hit) continue
          shownBytes += hit.shown.length + hit.path.length
          isTruncated = hits.length >= request.maxMatches || shownBytes > MAX_SHOWN_TOTAL_BYTES
          if (isTruncated) break
          hits.push(hit)
        }
      } catch {
        // Not what ripgrep writes: what was understood so far is the answer.
        isTruncated = true
      }
      if (isTruncated) stop()
    })
    const code = await new Promise<number | undefined>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', exit => resolve(exit ?? undefined))
    })
    // 0: found, 1: nothing found, 2: an error, perhaps only of one file. Undefined: killed by us.
    if (code === 2 && hits.length === 0 && errors !== '') return explain(errors, request.query)
    return { kind: 'found', hits, isTruncated: isTruncated || lines.dropped > 0 || code === undefined }
  } catch (error) {
    return {
      kind: 'failed',
      message: `ripgrep could not be started: ${error instanceof Error ? error.message : error}`,
    }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function options({ isRegex, isCaseSensitive, maxMatches, skippedFolders }: SearchRequest): readonly string[] {
  return [
    '--json',
    '--no-config',
    '--no-follow',
    '--no-messages',
    '--no-ignore-global',
    '--no-ignore-parent',
    '--no-require-git',
    '--hidden',
    '--encoding=none',
    '--crlf',
    '--sort=path',
    '--max-filesize=50M',
    `--max-count=${maxMatches + 1}`,
    isCaseSensitive ? '--case-sensitive' : '--ignore-case',
    ...(isRegex ? [] : ['--fixed-strings']),
    // What the workspace would refuse to show anyway.
    '--glob=!**/.runwright',
    ...skippedFolders.map(folder => `--glob=!**/${folder.replace(/[*?[\]{}\\!]/g, '\\$&')}`),
  ]
}

interface MatchMessage {
  readonly type: 'match'
  readonly data: {
    readonly path: { readonly text?: string }
    readonly lines: { readonly text?: string; readonly bytes?: string }
    readonly line_number: number
    readonly absolute_offset: number
    readonly submatches: readonly { readonly start: number }[]
  }
}

function toHit(message: unknown): SearchHit | undefined {
  if ((message as { type?: unknown }).type !== 'match') return undefined
  const { path, lines, line_number, absolute_offset, submatches } = (message as MatchMessage).data
  if (path.text === undefined) return undefined
  const whole = lines.text === undefined ? Buffer.from(lines.bytes ?? '', 'base64') : Buffer.from(lines.text)
  const isLong = whole.length > MAX_SHOWN_BYTES
  const from = isLong ? characterFrom(whole, Math.max(0, (submatches[0]?.start ?? 0) - SHOWN_BEFORE_MATCH)) : 0
  const end = isLong ? characterFrom(whole, Math.min(whole.length, from + MAX_SHOWN_BYTES)) : whole.length
  return {
    path: path.text.replace(/^\.\//, ''),
    lineNumber: line_number,
    offset: absolute_offset + from,
    // Copied: a slice would keep the whole line in memory.
    shown: Buffer.from(whole.subarray(from, end)),
    isCutBefore: from > 0,
    isCutAfter: end < whole.length,
  }
}

/** The first place at or before `at` where a UTF-8 character begins. */
function characterFrom(bytes: Buffer, at: number): number {
  let start = at
  while (start > 0 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--
  return start
}

/** Turns ripgrep's drawing (pattern, caret below it) into a sentence and a position in the query. */
function explain(errors: string, query: string): SearchOutcome {
  const lines = errors.split('\n')
  const reason = lines.find(line => line.startsWith('error: '))?.slice('error: '.length)
  const caret = lines.findIndex(line => /^\s*\^+\s*$/.test(line))
  const drawn = lines[caret - 1]
  const start = drawn?.indexOf(query) ?? -1
  if (reason !== undefined && caret > 0 && start !== -1) {
    const drawnAt = (lines[caret] ?? '').indexOf('^') - start
    // ripgrep puts the query into a group of its own; a caret left of the query means that ours ended that one.
    const position = drawnAt >= 0 ? drawnAt : openGroup(query)
    return { kind: 'bad_query', position, message: `${reason} at character ${position + 1} of the query` }
  }
  return { kind: 'bad_query', message: reason ?? lines[0]?.replace(/^rg: /, '') ?? 'ripgrep refused the query' }
}

/** Where the last group begins that is never closed. */
function openGroup(query: string): number {
  const open: number[] = []
  let isInSet = false
  for (let at = 0; at < query.length; at++) {
    const character = query[at]
    if (character === '\\') at++
    else if (isInSet) isInSet = character !== ']'
    else if (character === '[') isInSet = true
    else if (character === '(') open.push(at)
    else if (character === ')') open.pop()
  }
  return open.at(-1) ?? 0
}
