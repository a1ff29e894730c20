import type { FileAccess, FileRefusal, WorkspaceFiles } from '#contracts/workspace-files'
import { failure, refused, type ToolFailure } from '../tool-error.js'
import type { Draft } from './plan.js'

/**
 * Writes what was planned: new contents first, removals last, each only onto the version the plan saw. When one fails,
 * those before it are put back; what could not be put back is named. Answers the new versions by path.
 */
export async function carryOut(
  files: WorkspaceFiles,
  access: FileAccess,
  drafts: readonly Draft[],
): Promise<ReadonlyMap<string, string> | ToolFailure> {
  const pending = drafts
    .filter(draft => draft.after !== draft.before?.bytes)
    .toSorted((a, b) => Number(a.after === undefined) - Number(b.after === undefined))
  const versions = new Map<string, string>()
  const done: Draft[] = []
  for (const draft of pending) {
    const refusal = await write(files, access, draft, versions)
    if (!refusal) {
      done.push(draft)
      continue
    }
    const left = await putBack(files, access, done.reverse(), versions)
    const { error } = refused(refusal)
    const rest = left.length > 0 ? ` These files keep their new content: ${left.join(', ')}.` : ' No file was changed.'
    return failure(refusal.code, refusal.message + rest, { ...(error as object), message: refusal.message + rest })
  }
  return versions
}

async function write(
  files: WorkspaceFiles,
  access: FileAccess,
  draft: Draft,
  versions: Map<string, string>,
): Promise<FileRefusal | undefined> {
  const expectedVersion = draft.before?.version ?? ''
  if (!draft.after) {
    const removed = await files.remove(access, draft.given, { expectedVersion })
    return removed.kind === 'refused' ? removed : undefined
  }
  const mode = draft.mode === undefined ? {} : { mode: draft.mode }
  const written = await files.replace(access, draft.path, draft.after, { expectedVersion, ...mode })
  if (written.kind === 'refused') return written
  versions.set(draft.path, written.version)
  return undefined
}

/** Undoes the given writes; answers the paths where somebody was faster. */
async function putBack(
  files: WorkspaceFiles,
  access: FileAccess,
  drafts: readonly Draft[],
  versions: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  const left: string[] = []
  for (const { path, before, after } of drafts) {
    const expectedVersion = after ? (versions.get(path) ?? '') : ''
    const outcome = before
      ? await files.replace(access, path, before.bytes, { expectedVersion, mode: before.mode })
      : await files.remove(access, path, { expectedVersion })
    if (outcome.kind === 'refused') left.push(path)
  }
  return left
}
