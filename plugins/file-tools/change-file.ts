import type { FileAccess, FileContent, FileRefusal, WorkspaceFiles } from '#contracts/workspace-files'
import { MAX_EDITED_BYTES } from './file-text.js'
import { failure, isFailed, refused, type ToolFailure } from './tool-error.js'

/** Somebody else wrote in between this often: give up. */
const MAX_ATTEMPTS = 3

export interface Changed<T> {
  readonly path: string
  readonly before: FileContent | undefined
  readonly version: string
  readonly bytes: Uint8Array
  readonly change: T
}

/**
 * Reads a file, computes its new bytes and puts them in place only if nobody wrote meanwhile. With `expectedVersion`
 * the first difference is the answer; without one the change is computed again on the newer content.
 */
export async function changeFile<T extends { readonly bytes: Uint8Array }>(
  files: WorkspaceFiles,
  access: FileAccess,
  path: string,
  expectedVersion: string | undefined,
  compute: (before: FileContent | undefined) => T | ToolFailure,
): Promise<Changed<T> | ToolFailure> {
  let conflict: FileRefusal | undefined
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const before = await readOrMissing(files, access, path)
    if (before?.kind === 'refused') return refused(before)
    const actual = before?.version ?? ''
    if (expectedVersion !== undefined && expectedVersion !== actual)
      return failure('stale_write', staleMessage(actual), {
        path: before?.path ?? path,
        expected_version: expectedVersion,
        actual_version: actual,
      })
    const change = compute(before)
    if (isFailed(change)) return change
    if (change.bytes.length > MAX_EDITED_BYTES)
      return failure('too_large', `The file would become larger than ${MAX_EDITED_BYTES} bytes.`, { path })
    const written = await files.replace(access, path, change.bytes, { expectedVersion: actual })
    if (written.kind === 'written')
      return { path: written.path, before, version: written.version, bytes: change.bytes, change }
    if (written.code !== 'stale_write' || expectedVersion !== undefined) return refused(written)
    conflict = written
  }
  return conflict ? refused(conflict) : failure('stale_write', staleMessage('unknown'), { path })
}

/** The whole file; undefined when there is none. */
export async function readOrMissing(
  files: WorkspaceFiles,
  access: FileAccess,
  path: string,
): Promise<FileContent | FileRefusal | undefined> {
  const found = await files.read(access, path, MAX_EDITED_BYTES)
  return found.kind === 'refused' && found.code === 'not_found' ? undefined : found
}

const staleMessage = (actual: string): string =>
  actual === ''
    ? 'The file does not exist. Leave expected_version out to create it.'
    : 'The file changed since you read it. Read it again and repeat the change on the new content.'
