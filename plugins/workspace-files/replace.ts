import { randomBytes } from 'node:crypto'
import { fchmod, fchown, fsync, link, rename, unlink, write } from 'node:fs'
import { promisify } from 'node:util'
import type { FileRefusal, FileWritten, ReplaceOptions } from '#contracts/workspace-files'
import { notRegular, readPlace, versionOf } from './contents.js'
import { createChild, heldPath, release } from './descriptor.js'
import type { Place } from './reach.js'
import { hasErrno, stale } from './refusal.js'

const calls = {
  write: promisify(write),
  fsync: promisify(fsync),
  fchmod: promisify(fchmod),
  fchown: promisify(fchown),
  rename: promisify(rename),
  link: promisify(link),
  unlink: promisify(unlink),
}
/** Files above this have no version: hashing them for every check would cost too much. */
export const MAX_VERSIONED_BYTES = 10 * 1024 * 1024
const PERMISSION_BITS = 0o777

/** Puts a whole file at a place: written beside it, flushed, then named. */
export async function replaceAt(
  place: Place,
  bytes: Uint8Array,
  { expectedVersion, mode }: ReplaceOptions,
): Promise<FileWritten | FileRefusal> {
  const refused = notRegular(place) ?? (await checkVersion(place, expectedVersion))
  if (refused) return refused
  const directory = directoryOf(place)
  const temporary = `.runwright-${randomBytes(9).toString('base64url')}.tmp`
  await writeBeside(place, temporary, bytes, mode)
  try {
    const from = heldPath(directory, temporary)
    const to = heldPath(directory, place.name)
    if (expectedVersion === '') await nameOnce(from, to)
    else await calls.rename(from, to)
  } catch (error) {
    await calls.unlink(heldPath(directory, temporary)).catch(() => undefined)
    if (expectedVersion === '' && hasErrno(error, 'EEXIST')) return stale(place.path, '', 'unknown')
    throw error
  }
  return { kind: 'written', path: place.path, version: versionOf(bytes), isNew: place.entry === undefined }
}

/** Undefined when the file at the place is the expected version. */
export async function checkVersion(place: Place, expected: string | undefined): Promise<FileRefusal | undefined> {
  if (expected === undefined) return undefined
  if (place.entry && expected === '') return stale(place.path, '', 'unknown')
  if (!place.entry) return expected === '' ? undefined : stale(place.path, expected, '')
  const bytes = await readPlace(place, MAX_VERSIONED_BYTES)
  if ('kind' in bytes) return bytes
  const actual = versionOf(bytes)
  return actual === expected ? undefined : stale(place.path, expected, actual)
}

async function writeBeside(place: Place, name: string, bytes: Uint8Array, newMode: number | undefined): Promise<void> {
  const directory = directoryOf(place)
  const old = place.entry?.stats
  const fd = await createChild(directory, name, old ? 0o600 : (newMode ?? 0o666) & PERMISSION_BITS)
  try {
    for (let done = 0; done < bytes.length; )
      done += (await calls.write(fd, bytes, done, bytes.length - done, done)).bytesWritten
    if (old) {
      // Best effort: only root may give files away.
      if (old.uid !== process.geteuid?.() || old.gid !== process.getegid?.())
        await calls.fchown(fd, old.uid, old.gid).catch(() => undefined)
      await calls.fchmod(fd, old.mode & PERMISSION_BITS)
    }
    await calls.fsync(fd)
  } catch (error) {
    await calls.unlink(heldPath(directory, name)).catch(() => undefined)
    throw error
  } finally {
    release(fd)
  }
}

/** The folder that a place to be changed is in. */
export function directoryOf({ directory, path }: Place): number {
  if (directory === undefined) throw new Error(`${path} was reached for reading only`)
  return directory
}

/** Like rename, but fails when the name is taken. */
async function nameOnce(from: string, to: string): Promise<void> {
  try {
    await calls.link(from, to)
    await calls.unlink(from)
  } catch (error) {
    // File systems without hard links: the version check just before has to do.
    if (!hasErrno(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK')) throw error
    await calls.rename(from, to)
  }
}
