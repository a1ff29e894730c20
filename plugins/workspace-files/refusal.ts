import { messageOf } from '#contracts/errors'
import type { FileRefusal, FileRefusalCode } from '#contracts/workspace-files'

/** A refusal; `message` says what to do. */
export const refuse = (code: FileRefusalCode, path: string, message: string): FileRefusal => ({
  kind: 'refused',
  code,
  path,
  message,
})

export const outside = (path: string): FileRefusal =>
  refuse(
    'outside_workspace',
    path,
    `${path} leads outside the workspace. Use a path relative to the workspace root, or an absolute path beneath one of its directories.`,
  )

/** What a run works in is no longer where it was: somebody put a link there. */
export const swappedRoot = (root: string): FileRefusal =>
  refuse(
    'outside_workspace',
    root,
    `${root} was a directory when the run began and is a link now, so nothing in it is touched. Put the directory back, or start a new run.`,
  )

export const notFound = (path: string): FileRefusal =>
  refuse('not_found', path, `There is no ${path}. List the folder to see what is there.`)

export const stale = (path: string, expectedVersion: string, actualVersion: string): FileRefusal => ({
  ...refuse('stale_write', path, staleMessage(path, expectedVersion, actualVersion)),
  expectedVersion,
  actualVersion,
})

function staleMessage(path: string, expected: string, actual: string): string {
  if (expected === '') return `${path} exists already. Read it, then edit it or write it with its version.`
  if (actual === '') return `${path} does not exist any more. Read the folder again.`
  return `${path} changed since it was read. Read it again and repeat the change on the new content.`
}

/** True for anything thrown by the file system with this code. */
export const hasErrno = (error: unknown, ...codes: readonly string[]): boolean =>
  typeof error === 'object' && error !== null && codes.includes(String((error as { code?: unknown }).code))

const SENTENCES: Readonly<Record<string, string>> = {
  EACCES: 'The daemon has no permission for it.',
  EPERM: 'The file system does not permit it.',
  ENOSPC: 'The disk is full.',
  EDQUOT: 'The disk quota is used up.',
  EROFS: 'The file system is read-only.',
  EIO: 'The disk reported an input or output error.',
  EMFILE: 'The daemon has too many files open; try again.',
  ENFILE: 'The machine has too many files open; try again.',
  EFBIG: 'The file would be too large.',
  ETXTBSY: 'The file is a program that is running.',
}

/** A failed system call as a refusal, without the descriptor paths Node puts into its message. */
export function fromErrno(error: unknown, path: string): FileRefusal {
  if (hasErrno(error, 'ENOENT')) return notFound(path)
  if (hasErrno(error, 'ENOTDIR'))
    return refuse('not_a_directory', path, `A part of ${path} is a file, not a folder. Check the path.`)
  if (hasErrno(error, 'EISDIR')) return refuse('is_a_directory', path, `${path} is a folder. Name a file.`)
  if (hasErrno(error, 'EEXIST')) return refuse('already_exists', path, `${path} exists already.`)
  if (hasErrno(error, 'ENAMETOOLONG'))
    return refuse('invalid_path', path, 'The path is too long for the file system. Use a shorter one.')
  const code = String((error as { code?: unknown } | undefined)?.code ?? '')
  const reason = SENTENCES[code] ?? (/^E[A-Z]+$/.test(code) ? `The file system answered ${code}.` : messageOf(error))
  return refuse('io_error', path, `${path} could not be used. ${reason}`)
}
