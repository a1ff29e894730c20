import { unlink } from 'node:fs/promises'
import type { FileAccess, FilePlace, FileRefusal, WorkspaceFiles } from '#contracts/workspace-files'
import type { WorkspaceFilesConfig } from './config.js'
import { notRegular, openPlace, readPlace, versionOf } from './contents.js'
import { heldPath } from './descriptor.js'
import { Guard } from './guard.js'
import { type Place, reach, type Wish } from './reach.js'
import { reachDirectly } from './reach-directly.js'
import { fromErrno, notFound, refuse } from './refusal.js'
import { checkVersion, directoryOf, replaceAt } from './replace.js'
import { createTurns, inTurn, type Turns } from './turns.js'
import { walkDirectory } from './walk-directory.js'

/** Workspace files opened through descriptors. `turns` orders the replacements of one file; share it between instances. */
export function createConfinedFiles(config: WorkspaceFilesConfig, turns: Turns = createTurns()): WorkspaceFiles {
  const guard = new Guard(config)

  const at = async <T>(wish: Wish, use: (place: Place) => Promise<T>): Promise<T | FileRefusal> => {
    const place = await reach(wish, guard)
    return 'kind' in place ? place : using(place, use)
  }

  /** As `at`, the short way where it leads there. */
  const atFile = async <T>(wish: Wish, use: (place: Place) => Promise<T>): Promise<T | FileRefusal> => {
    const place = await reachDirectly(wish, guard)
    return place ? using(place, use) : at(wish, use)
  }

  /** One writer at a time per file. Who has to wait, or may have looked before another's turn ended, looks anew. */
  const change = async <T>(wish: Wish, use: (place: Place) => Promise<T>): Promise<T | FileRefusal> => {
    const allowed = async (place: Place) => guard.mayWrite(wish.access, place.spot, place.path) ?? (await use(place))
    const endedBefore = turns.ended
    const busy = await at(wish, async place => {
      const key = placeKey(place)
      return turns.queues.has(key) || turns.ended !== endedBefore
        ? { mustWaitFor: key }
        : inTurn(turns, key, () => allowed(place))
    })
    if (typeof busy !== 'object' || busy === null || !('mustWaitFor' in busy)) return busy
    return inTurn(turns, busy.mustWaitFor, () => at(wish, allowed))
  }

  return {
    versionOf,
    resolve: (access, path, intent) => {
      const wish: Wish =
        intent === 'read' ? reading(access, path) : { ...writing(access, path), missingParents: 'pretend' }
      return at(wish, async place => {
        const denied = intent === 'write' ? guard.mayWrite(access, place.spot, place.path) : undefined
        return denied ?? { kind: 'place', path: place.path, is: kindOf(place) }
      })
    },
    open: (access, path) => atFile(reading(access, path), openPlace),
    read: (access, path, maxBytes) =>
      atFile(reading(access, path), async place => {
        const bytes = await readPlace(place, maxBytes)
        if ('kind' in bytes) return bytes
        const mode = (place.entry?.stats.mode ?? 0) & 0o777
        return { kind: 'content', path: place.path, bytes, version: versionOf(bytes), mode }
      }),
    replace: (access, path, bytes, options = {}) =>
      change(writing(access, path), place => replaceAt(place, bytes, options)),
    remove: (access, path, options = {}) =>
      change({ ...writing(access, path), followLast: false, missingParents: 'refuse' }, async place => {
        const refused = place.entry ? notRegular(place) : notFound(place.path)
        const isStale = refused ?? (await checkVersion(place, options.expectedVersion))
        if (isStale) return isStale
        await unlink(heldPath(directoryOf(place), place.name))
        return { kind: 'removed', path: place.path }
      }),
    async *walk(access, path, options, signal) {
      const place = await reach(reading(access, path), guard)
      if ('kind' in place) {
        yield place
        return
      }
      try {
        if (place.name !== '') yield place.entry ? notFolder(place) : notFound(place.path)
        else yield* walkDirectory(directoryOf(place), place.spot, '', { access, guard, options, signal })
      } catch (error) {
        if (signal.aborted) throw error
        yield fromErrno(error, place.path)
      } finally {
        place.close()
      }
    },
    async hold(access, path) {
      const place = await reach(reading(access, path), guard)
      if ('kind' in place) return place
      const refused = !place.entry ? notFound(place.path) : place.name === '' ? undefined : notRegular(place)
      if (refused) {
        place.close()
        return refused
      }
      const folder = place.name === '' ? place.path : parentOf(place.path)
      return {
        kind: 'held',
        path: folder === '.' ? '' : folder,
        descriptorPath: heldPath(directoryOf(place)),
        ...(place.name !== '' && { fileName: place.name }),
        close: () => place.close(),
      }
    },
  }
}

async function using<T>(place: Place, use: (place: Place) => Promise<T>): Promise<T | FileRefusal> {
  try {
    return await use(place)
  } catch (error) {
    return fromErrno(error, place.path)
  } finally {
    place.close()
  }
}

const reading = (access: FileAccess, path: string): Wish => ({
  access,
  path,
  intent: 'read',
  followLast: true,
  missingParents: 'refuse',
})

const writing = (access: FileAccess, path: string): Wish => ({
  ...reading(access, path),
  intent: 'write',
  missingParents: 'make',
})

function kindOf({ entry }: Place): FilePlace['is'] {
  if (!entry) return 'missing'
  if (entry.stats.isFile()) return 'file'
  return entry.stats.isDirectory() ? 'directory' : 'other'
}

const placeKey = (place: Place): string => `${place.spot.real}/${place.spot.components.join('/')}`

const parentOf = (path: string): string => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '')

const notFolder = (place: Place): FileRefusal =>
  refuse('not_a_directory', place.path, `${place.path} is a file, not a folder. Use read for files.`)
