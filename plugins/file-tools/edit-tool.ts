import { Type } from '@sinclair/typebox'
import { defineTool } from '#contracts/tool/tool'
import type { FileContent, WorkspaceFiles } from '#contracts/workspace-files'
import { ExpectedVersion, OLD_NEW_ALIASES, PATH_ALIASES, PathParameter, renamed } from './arguments.js'
import { describeChange } from './change-diff.js'
import { changeFile } from './change-file.js'
import { MAX_EDITED_BYTES, textOf } from './file-text.js'
import { findLine } from './line-hash.js'
import { type Region, type Replacement, replaceText } from './replace-text.js'
import { failure, isFailed, type ToolFailure } from './tool-error.js'

const Text = (description: string) => Type.String({ maxLength: MAX_EDITED_BYTES, description })
const LineMark = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 64, description }))

const parameters = Type.Object({
  path: PathParameter,
  old_text: Text('The exact text to replace, with its indentation. Must stand exactly once unless replace_all is set.'),
  new_text: Text('What to put there. Empty deletes old_text.'),
  replace_all: Type.Optional(Type.Boolean({ description: 'Replace every occurrence.' })),
  expected_version: ExpectedVersion,
  start_line_hash: LineMark('Look from this line on: "<number>:<hash>" as read shows it with hash_lines.'),
  end_line_hash: LineMark('Look up to and including this line.'),
})

/** `edit`: replaces one exact piece of text. */
export const createEditTool = (files: WorkspaceFiles) =>
  defineTool({
    name: 'edit',
    description:
      'Replace an exact piece of text in a file. Copy old_text from what read shows, with a few lines around it so that it is unique.',
    parameters,
    action: 'write',
    tags: ['file'],
    normalise: args => renamed(args, { ...PATH_ALIASES, ...OLD_NEW_ALIASES }),
    subject: ({ path }) => ({ paths: [path] }),
    async execute(args, context) {
      const wanted = { oldText: args.old_text, newText: args.new_text, isForAll: args.replace_all ?? false }
      const bounds = { start: args.start_line_hash, end: args.end_line_hash }
      const access = await context.sandboxPolicy()
      const changed = await changeFile(files, access, args.path, args.expected_version, before =>
        before ? editFile(before, wanted, bounds) : noFile(args.path),
      )
      if (isFailed(changed)) return changed
      const { before, after, count } = changed.change
      return {
        output: {
          path: changed.path,
          replacements: count,
          version: changed.version,
          diff: describeChange(changed.path, before, after),
          before_bytes: changed.before?.bytes.length ?? 0,
          after_bytes: changed.bytes.length,
          changed: true,
        },
      }
    },
  })

const noFile = (path: string): ToolFailure =>
  failure('not_found', `There is no ${path}. Use write to create it, or ls to see what is there.`, { path })

function editFile(
  file: FileContent,
  wanted: Replacement,
  bounds: { readonly start: string | undefined; readonly end: string | undefined },
) {
  const before = textOf(file)
  if (typeof before !== 'string') return before
  const region = regionOf(before, bounds.start, bounds.end)
  if (region && 'error' in region) return region
  const replaced = replaceText(before, wanted, region)
  if (isFailed(replaced)) return replaced
  return { before, after: replaced.text, count: replaced.count, bytes: Buffer.from(replaced.text) }
}

function regionOf(
  text: string,
  startMark: string | undefined,
  endMark: string | undefined,
): Region | ToolFailure | undefined {
  if (startMark === undefined && endMark === undefined) return undefined
  const start = startMark === undefined ? { start: 0, end: 0 } : markedLine(text, startMark, 'start_line_hash')
  if (isFailed(start)) return start
  const end =
    endMark === undefined ? { start: text.length, end: text.length } : markedLine(text, endMark, 'end_line_hash')
  if (isFailed(end)) return end
  return start.start <= end.start
    ? { start: start.start, end: end.end }
    : failure('invalid_arguments', 'end_line_hash stands before start_line_hash.')
}

function markedLine(text: string, mark: string, parameter: string): Region | ToolFailure {
  const found = findLine(text, mark)
  if (found.kind === 'found') return found
  if (found.kind === 'missing')
    return failure(
      'line_not_found',
      `${parameter} ${JSON.stringify(mark)} names no line of the file now. Read it again with hash_lines.`,
    )
  return failure(
    'ambiguous_line',
    `${parameter} ${JSON.stringify(mark)} fits lines ${found.lines.join(', ')}. Give it as "<number>:<hash>".`,
  )
}
