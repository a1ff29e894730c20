import { Type } from '@sinclair/typebox'
import { defineTool } from '#contracts/tool/tool'
import type { WorkspaceFiles } from '#contracts/workspace-files'
import { PATH_ALIASES, PathParameter, renamed } from './arguments.js'
import { withLineHashes } from './line-hash.js'
import { type FileWindow, readWindow } from './read-window.js'
import { refused } from './tool-error.js'

const MAX_HASHED_LINES = 5000

const parameters = Type.Object({
  path: PathParameter,
  max_bytes: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_048_576, default: 16_384, description: 'Most bytes to return.' }),
  ),
  offset: Type.Optional(
    Type.Integer({ minimum: 0, default: 0, description: 'Lines to skip from the start of the file.' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, description: 'Most lines to return.' })),
  hash_lines: Type.Optional(
    Type.Boolean({
      description: 'Prefix each line with "<number>:<hash>|", for start_line_hash and end_line_hash of edit.',
    }),
  ),
})

/** `read`: a window of a text file with the version that edits may name. */
export const createReadTool = (files: WorkspaceFiles) =>
  defineTool({
    name: 'read',
    description:
      'Read a text file. Returns content and version. Long files come in pieces: when truncated is true, read on with offset = next_offset. Pass version as expected_version when you edit the file.',
    parameters,
    action: 'read',
    tags: ['file'],
    normalise: args => renamed(args, PATH_ALIASES),
    subject: ({ path }) => ({ paths: [path] }),
    async execute({ path, max_bytes = 16_384, offset = 0, limit = Number.MAX_SAFE_INTEGER, hash_lines }, context) {
      const file = await files.open(await context.sandboxPolicy(), path)
      if (file.kind === 'refused') return refused(file)
      try {
        const most = hash_lines ? Math.min(limit, MAX_HASHED_LINES) : limit
        const request = { offset, limit: most, maxBytes: max_bytes }
        const window = await readWindow(file, request, context.signal, files.versionOf)
        return { output: { path: file.path, ...present(window, file.sizeBytes, offset, hash_lines === true) } }
      } finally {
        file.close()
      }
    },
  })

function present(window: FileWindow, sizeBytes: number, offset: number, isHashed: boolean): Record<string, unknown> {
  const version = window.version === undefined ? {} : { version: window.version }
  if (window.bytes.includes(0))
    return {
      content: '',
      truncated: window.isTruncated,
      ...version,
      binary: true,
      size_bytes: sizeBytes,
      note: 'This is not a text file (it holds NUL bytes). Use a command in bash to look at it.',
    }
  const { text, isUtf8 } = decode(window.bytes)
  const notes = [
    !isUtf8 && 'Not valid UTF-8: damaged characters are shown as \ufffd. edit and apply_patch refuse this file.',
    window.endsInLine && 'The content ends inside a long line. Raise max_bytes to see more of it.',
    window.bytes.length === 0 && offset > 0 && `Nothing after line ${offset}${ofTotal(window)}.`,
    window.version === undefined && 'No version: the file is larger than 10 MiB. Use bash to change it.',
  ].filter(note => note !== false)
  return {
    content: isHashed && text !== '' ? withLineHashes(text, offset + 1) : text,
    truncated: window.isTruncated,
    ...version,
    size_bytes: sizeBytes,
    ...(window.totalLines !== undefined && { total_lines: window.totalLines }),
    ...(window.isTruncated && window.lines > 0 && { next_offset: offset + window.lines }),
    ...(notes.length > 0 && { note: notes.join(' ') }),
  }
}

const ofTotal = ({ totalLines }: FileWindow): string =>
  totalLines === undefined ? ' within the first 64 MiB; use grep' : `; the file has ${totalLines} lines`

function decode(bytes: Uint8Array): { readonly text: string; readonly isUtf8: boolean } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), isUtf8: true }
  } catch {
    return { text: new TextDecoder('utf-8').decode(bytes), isUtf8: false }
  }
}
