import type { FileAccess, FileContent, WorkspaceFiles } from '#contracts/workspace-files'
import { readOrMissing } from '../change-file.js'
import { MAX_EDITED_BYTES, textOf } from '../file-text.js'
import { failure, isFailed, refused, type ToolFailure } from '../tool-error.js'
import { applyHunks } from './apply-hunks.js'
import type { FileChange } from './file-change.js'

/** One file as the patch found it and as it shall be; `after` undefined: gone. */
export interface Draft {
  /** As the patch names it. */
  readonly given: string
  /** As the workspace names it. */
  readonly path: string
  readonly before: FileContent | undefined
  after: Uint8Array | undefined
  mode: number | undefined
  hunks: number
  movedFrom: Draft | undefined
}

const EXECUTABLE = 0o755

/** Works a whole patch out in memory. Nothing is written; the first thing that does not fit is the answer. */
export async function planPatch(
  files: WorkspaceFiles,
  access: FileAccess,
  changes: readonly FileChange[],
): Promise<readonly Draft[] | ToolFailure> {
  const drafts = new Map<string, Draft>()
  const draftOf = async (given: string): Promise<Draft | ToolFailure> => {
    const place = await files.resolve(access, given, 'write')
    if (place.kind === 'refused') return refused(place)
    const known = drafts.get(place.path)
    if (known) return known
    const before = await readOrMissing(files, access, given)
    if (before?.kind === 'refused') return refused(before)
    const draft = {
      given,
      path: place.path,
      before,
      after: before?.bytes,
      mode: before?.mode,
      hunks: 0,
      movedFrom: undefined,
    }
    drafts.set(place.path, draft)
    return draft
  }
  for (const change of changes) {
    const draft = await draftOf(change.path)
    if (isFailed(draft)) return draft
    const target = change.kind === 'update' && change.moveTo !== undefined ? await draftOf(change.moveTo) : undefined
    if (target && isFailed(target)) return target
    const failed = apply(change, draft, target)
    if (failed) return failed
  }
  return [...drafts.values()]
}

function apply(change: FileChange, draft: Draft, target: Draft | undefined): ToolFailure | undefined {
  if (change.kind === 'add') {
    if (draft.after) return exists(draft.path)
    draft.after = Buffer.from(change.content)
    if (change.isExecutable) draft.mode = EXECUTABLE
    return undefined
  }
  if (!draft.after)
    return failure('not_found', `There is no ${draft.path} to change. Add it as a new file instead.`, {
      path: draft.path,
    })
  const patched = change.hunks.length > 0 ? patch(change, draft, draft.after) : draft.after
  if (isFailed(patched)) return patched
  if (patched.length > MAX_EDITED_BYTES)
    return failure('too_large', `${draft.path} would become larger than ${MAX_EDITED_BYTES} bytes.`, {
      path: draft.path,
    })
  draft.hunks += change.hunks.length
  if (change.kind === 'delete') {
    if (change.hunks.length > 0 && patched.length > 0)
      return failure('patch_failed', `The diff deletes ${draft.path}, but not all its lines. Read the file again.`, {
        path: draft.path,
      })
    draft.after = undefined
  } else if (target && target !== draft) {
    if (target.after) return exists(target.path)
    target.after = patched
    target.mode = draft.mode
    target.movedFrom = draft
    target.hunks += change.hunks.length
    draft.after = undefined
  } else draft.after = patched
  return undefined
}

function patch(
  change: Exclude<FileChange, { kind: 'add' }>,
  draft: Draft,
  bytes: Uint8Array,
): Uint8Array | ToolFailure {
  const text = textOf({ kind: 'content', path: draft.path, bytes, version: '', mode: 0 })
  if (typeof text !== 'string') return text
  const applied = applyHunks(text, change)
  return typeof applied === 'string'
    ? Buffer.from(applied)
    : failure('patch_failed', applied.message, { path: draft.path })
}

const exists = (path: string): ToolFailure =>
  failure('already_exists', `${path} exists already. Update it instead of adding it, or delete it first.`, { path })
