import { type Dirent, opendir as opendirCallback } from 'node:fs'
import { promisify } from 'node:util'
import type { DirectoryEntry, FileAccess, FileRefusal, WalkCut, WalkOptions } from '#contracts/workspace-files'
import { type Descriptor, heldPath, holdChild, isOfTheKernel, release } from './descriptor.js'
import type { Guard, Spot } from './guard.js'
import { shown } from './reach.js'
import { fromErrno, hasErrno } from './refusal.js'

const opendir = promisify(opendirCallback)
/** Names of one directory that are held and sorted; more are not looked at. */
const MAX_NAMES = 20_000
/** One descriptor is held per level. */
const MAX_DEPTH = 100

interface Visit {
  readonly access: FileAccess
  readonly guard: Guard
  readonly options: WalkOptions
  readonly signal: AbortSignal
}

/** Yields what is below a held directory, each folder opened from the one above it. The caller keeps and closes `fd`. */
export async function* walkDirectory(
  fd: number,
  spot: Spot,
  relative: string,
  visit: Visit,
  level = 0,
): AsyncGenerator<DirectoryEntry | WalkCut | FileRefusal> {
  const { names, isCut } = await list(fd)
  for (const dirent of names) {
    visit.signal.throwIfAborted()
    const inner: Spot = { ...spot, components: [...spot.components, dirent.name] }
    if (visit.guard.isHidden(visit.access, inner)) continue
    const path = relative === '' ? dirent.name : `${relative}/${dirent.name}`
    yield { path: shown(inner, visit.access), relative: path, kind: kindOf(dirent) }
    if (!dirent.isDirectory() || level >= Math.min(visit.options.depth, MAX_DEPTH)) continue
    if (visit.options.mayEnter?.(path) === false) continue
    const folder = await holdFolder(fd, dirent.name)
    if (!folder) continue
    try {
      yield* walkDirectory(folder.fd, inner, path, visit, level + 1)
    } catch (error) {
      if (visit.signal.aborted) throw error
      yield fromErrno(error, shown(inner, visit.access))
    } finally {
      release(folder.fd)
    }
  }
  if (isCut) yield { kind: 'cut', path: shown(spot, visit.access) }
}

/** The folder under a name; undefined when it is gone, became a link, or is the kernel's. */
async function holdFolder(directory: number, name: string): Promise<Descriptor | undefined> {
  try {
    const folder = await holdChild(directory, name)
    if (folder.stats.isDirectory() && !isOfTheKernel(folder.fd)) return folder
    release(folder.fd)
    return undefined
  } catch (error) {
    if (hasErrno(error, 'ENOENT', 'EACCES')) return undefined
    throw error
  }
}

async function list(fd: number): Promise<{ readonly names: readonly Dirent[]; readonly isCut: boolean }> {
  const directory = await opendir(heldPath(fd), { bufferSize: 256 })
  const names: Dirent[] = []
  let isCut = false
  for await (const dirent of directory) {
    isCut = names.length >= MAX_NAMES
    if (isCut) break
    names.push(dirent)
  }
  return { names: names.sort((a, b) => (a.name < b.name ? -1 : 1)), isCut }
}

function kindOf(dirent: Dirent): DirectoryEntry['kind'] {
  if (dirent.isFile()) return 'file'
  if (dirent.isDirectory()) return 'directory'
  return dirent.isSymbolicLink() ? 'link' : 'other'
}
