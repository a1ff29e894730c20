import { type Static, Type } from '@sinclair/typebox'
import { defineTool, type ToolResult } from '#contracts/tool/tool'
import type { FileAccess, WorkspaceFiles } from '#contracts/workspace-files'
import { ExpectedVersion, OLD_NEW_ALIASES, PATH_ALIASES, PathParameter, renamed } from './arguments.js'
import { describeChange } from './change-diff.js'
import { changeFile } from './change-file.js'
import { MAX_EDITED_BYTES, textOf } from './file-text.js'
import { carryOut } from './patch/carry-out.js'
import { isFault } from './patch/file-change.js'
import { MAX_PATCH_CHARS, parsePatchText, pathsOf } from './patch/parse-patch-text.js'
import { type Draft, planPatch } from './patch/plan.js'
import { type Replacement, replaceText } from './replace-text.js'
import { failure, isFailed, type ToolFailure } from './tool-error.js'

const Text = Type.String({ maxLength: MAX_EDITED_BYTES })
const Occurrence = Type.Optional(Type.Integer({ minimum: 1, description: 'Which of several matches, from 1.' }))

const parameters = Type.Object({
  patch: Type.Optional(
    Type.String({
      maxLength: MAX_PATCH_CHARS,
      description: 'A unified diff, or a patch in the "*** Begin Patch" style. May change several files.',
    }),
  ),
  path: Type.Optional(PathParameter),
  edits: Type.Optional(
    Type.Array(
      Type.Object({
        old_text: Text,
        new_text: Text,
        replace_all: Type.Optional(Type.Boolean()),
        occurrence: Occurrence,
      }),
      { minItems: 1, maxItems: 200, description: 'Exact replacements in the file at path, one after the other.' },
    ),
  ),
  find: Type.Optional(
    Type.String({ maxLength: MAX_EDITED_BYTES, description: 'Exact text to replace in the file at path.' }),
  ),
  replace: Type.Optional(Text),
  replace_all: Type.Optional(Type.Boolean()),
  occurrence: Occurrence,
  expected_version: ExpectedVersion,
})
type PatchArguments = Static<typeof parameters>

/** `apply_patch`: changes one or several files together. */
export const createApplyPatchTool = (files: WorkspaceFiles) =>
  defineTool({
    name: 'apply_patch',
    description:
      'Change one or several files at once: all of it is checked first, then written, or nothing is. Give patch (a unified diff, or "*** Begin Patch" with "*** Update File: <path>", "*** Add File: <path>", "*** Delete File: <path>", "*** Move to: <path>"), or path with edits, or path with find and replace.',
    parameters,
    action: 'write',
    tags: ['file'],
    normalise: normalised,
    subject: ({ patch, path }) => ({
      paths: [
        ...new Set([...(path === undefined ? [] : [path]), ...(patch === undefined ? [] : pathsOf(patch, path))]),
      ],
    }),
    async execute(args, context) {
      const access = await context.sandboxPolicy()
      const forms = [args.patch, args.edits, args.find].filter(form => form !== undefined)
      if (forms.length !== 1)
        return failure(
          'invalid_arguments',
          'Give exactly one of patch, edits (with path) or find and replace (with path).',
        )
      if (args.patch !== undefined) return applyText(files, access, args.patch, args)
      if (args.path === undefined) return failure('invalid_arguments', 'path is missing: which file shall be changed?')
      const edits = replacements(args)
      return isFailed(edits) ? edits : applyEdits(files, access, args.path, edits, args.expected_version)
    },
  })

function normalised(args: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const result = renamed(args, { ...PATH_ALIASES, diff: 'patch', unified_diff: 'patch' })
  const isEdit = (edit: unknown): edit is Record<string, unknown> => typeof edit === 'object' && edit !== null
  return Array.isArray(result.edits)
    ? { ...result, edits: result.edits.map(edit => (isEdit(edit) ? renamed(edit, OLD_NEW_ALIASES) : edit)) }
    : result
}

function replacements(args: PatchArguments): readonly Replacement[] | ToolFailure {
  const build = (oldText: string, newText: string, isForAll: boolean | undefined, occurrence: number | undefined) => ({
    oldText,
    newText,
    isForAll: isForAll ?? false,
    ...(occurrence !== undefined && { occurrence }),
  })
  if (args.edits) return args.edits.map(edit => build(edit.old_text, edit.new_text, edit.replace_all, edit.occurrence))
  if (args.replace === undefined)
    return failure('invalid_arguments', 'replace is missing: what shall stand instead of find?')
  return [build(args.find ?? '', args.replace, args.replace_all, args.occurrence)]
}

async function applyEdits(
  files: WorkspaceFiles,
  access: FileAccess,
  path: string,
  edits: readonly Replacement[],
  expectedVersion: string | undefined,
): Promise<ToolResult> {
  const changed = await changeFile(files, access, path, expectedVersion, before => {
    if (!before) return failure('not_found', `There is no ${path}. Use write to create it.`, { path })
    const text = textOf(before)
    if (typeof text !== 'string') return text
    let after = text
    let count = 0
    for (const [index, edit] of edits.entries()) {
      const replaced = replaceText(after, edit)
      if (isFailed(replaced)) return edits.length === 1 ? replaced : numbered(replaced, index)
      after = replaced.text
      count += replaced.count
    }
    return { text, after, count, bytes: Buffer.from(after) }
  })
  if (isFailed(changed)) return changed
  return {
    output: {
      path: changed.path,
      replacements: changed.change.count,
      version: changed.version,
      diff: describeChange(changed.path, changed.change.text, changed.change.after),
      before_bytes: changed.before?.bytes.length ?? 0,
      after_bytes: changed.bytes.length,
      changed: changed.before?.version !== changed.version,
    },
  }
}

const numbered = ({ error }: ToolFailure, index: number): ToolFailure =>
  typeof error === 'string'
    ? { error }
    : {
        error: {
          ...error,
          message: `Edit ${index + 1}: ${String(error.message)} No edit was applied.`,
          edit: index + 1,
        },
      }

async function applyText(
  files: WorkspaceFiles,
  access: FileAccess,
  text: string,
  { path, expected_version }: PatchArguments,
): Promise<ToolResult> {
  const changes = parsePatchText(text, path)
  if (isFault(changes)) return failure('invalid_patch', changes.message)
  const drafts = await planPatch(files, access, changes)
  if (isFailed(drafts)) return drafts
  if (expected_version !== undefined) {
    const [only, ...more] = drafts
    if (!only || more.length > 0)
      return failure('invalid_arguments', 'expected_version goes with a patch of one file only. Leave it out.')
    const actual_version = only.before?.version ?? ''
    if (actual_version !== expected_version)
      return failure('stale_write', 'The file changed since you read it. Read it again and make the patch anew.', {
        path: only.path,
        expected_version,
        actual_version,
      })
  }
  const versions = await carryOut(files, access, drafts)
  if ('error' in versions) return versions
  const moved = new Set(drafts.map(draft => draft.movedFrom))
  const told = drafts.filter(draft => draft.after || !moved.has(draft))
  const results = told.map(draft => report(draft, versions, told.length))
  const [only] = results
  return { output: results.length === 1 && only ? only : { files: results } }
}

/** All files together; each gets its share. */
const MAX_DIFFS_CHARS = 16_000

function report(draft: Draft, versions: ReadonlyMap<string, string>, files: number): Readonly<Record<string, unknown>> {
  const show = (bytes: Uint8Array | undefined) => (bytes ? Buffer.from(bytes).toString() : '')
  const { after, movedFrom } = draft
  const before = movedFrom ? movedFrom.before : draft.before
  const isMoved = movedFrom !== undefined
  const shown = {
    ...(isMoved && { from: movedFrom.path }),
    ...(files > 4 && { maxChars: Math.floor(MAX_DIFFS_CHARS / files) }),
  }
  return {
    path: draft.path,
    action: isMoved ? 'move' : before ? (after ? 'update' : 'delete') : after ? 'add' : 'none',
    ...(isMoved && { moved_from: movedFrom.path }),
    replacements: draft.hunks,
    version: versions.get(draft.path) ?? (after ? before?.version : undefined) ?? '',
    diff: describeChange(draft.path, show(before?.bytes), show(after), shown),
    before_bytes: before?.bytes.length ?? 0,
    after_bytes: after?.length ?? 0,
    changed: isMoved || (before && after ? Buffer.compare(before.bytes, after) !== 0 : before !== after),
  }
}
