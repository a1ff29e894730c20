import { join } from 'node:path'
import { holdByPath, isOfTheKernel, release, whereabouts } from './descriptor.js'
import type { Guard, Spot } from './guard.js'
import { locateByName } from './locate.js'
import { parsePath } from './path-text.js'
import { type Place, shown, type Wish } from './reach.js'

/**
 * The short way to a file that is read: opened in one go, without touching it, and kept only if the kernel then says
 * that the held object lies exactly where the names say, so no link was on the way. Undefined: take the long way,
 * which also knows what to answer. The object is held before its place is asked, so there is nothing to race.
 */
export async function reachDirectly(wish: Wish, guard: Guard): Promise<Place | undefined> {
  const text = parsePath(wish.path)
  if ('kind' in text || text.meansFolder || text.components.includes('..')) return undefined
  const located = text.isAbsolute
    ? locateByName(wish.access, text.components)
    : { root: wish.access.root, components: text.components }
  if (!located) return undefined
  const { root, components } = located
  const spotOf = (length: number): Spot => ({ given: root, real: root, components: components.slice(0, length) })
  for (let length = 1; length <= components.length; length++)
    if (guard.check(wish.access, spotOf(length), wish.intent, wish.path)) return undefined
  const path = join(root, ...components)
  const entry = await holdByPath(path).catch(() => undefined)
  if (!entry) return undefined
  const { fd, stats } = entry
  if (!stats.isFile() || whereabouts(fd) !== path || isOfTheKernel(fd)) {
    release(fd)
    return undefined
  }
  const spot = spotOf(components.length)
  const name = components.at(-1) ?? ''
  return { path: shown(spot, wish.access), spot, directory: undefined, name, entry, close: () => release(fd) }
}
