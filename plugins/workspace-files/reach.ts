import { mkdir, readlink } from 'node:fs/promises'
import type { FileAccess, FileRefusal } from '#contracts/workspace-files'
import { type Descriptor, heldPath, holdChild, holdRoot, isOfTheKernel, release, whereabouts } from './descriptor.js'
import type { Guard, Intent, Spot } from './guard.js'
import { locate } from './locate.js'
import { type PathText, parsePath } from './path-text.js'
import { fromErrno, hasErrno, notFound, outside, refuse, swappedRoot } from './refusal.js'

const MAX_LINKS = 40
/** Each step opens one name; `..` walks again from the root, so this also bounds hostile zigzags. */
const MAX_STEPS = 1024

export interface Wish {
  readonly access: FileAccess
  readonly path: string
  readonly intent: Intent
  /** False: a link at the end is the answer, not what it points to. */
  readonly followLast: boolean
  /** What to do about missing folders on the way; `pretend` answers as if they had been made. */
  readonly missingParents: 'refuse' | 'make' | 'pretend'
}

/** Where a path leads, everything on the way held by descriptor. Close it. */
export interface Place {
  readonly path: string
  readonly spot: Spot
  /** The held directory that `name` is in; the place itself when it is a directory; undefined after the short way. */
  readonly directory: number | undefined
  /** Empty when the place is a directory. */
  readonly name: string
  /** Undefined: nothing is there (yet). */
  readonly entry: Descriptor | undefined
  close(): void
}

/** Walks a path beneath the roots, one name at a time, each opened from the directory before it. */
export async function reach(wish: Wish, guard: Guard): Promise<Place | FileRefusal> {
  const text = parsePath(wish.path)
  if ('kind' in text) return text
  const walker = new Walker(wish, guard, text)
  try {
    return await walker.walk()
  } catch (error) {
    return fromErrno(error, wish.path)
  } finally {
    walker.close()
  }
}

class Walker {
  #given = ''
  #real = ''
  #device = 0
  #here: Descriptor | undefined
  #components: string[] = []
  #pending: string[] = []
  #links = 0

  constructor(
    readonly wish: Wish,
    readonly guard: Guard,
    readonly text: PathText,
  ) {}

  async walk(): Promise<Place | FileRefusal> {
    const refused = await this.#start(this.text, [])
    if (refused) return refused
    for (let step = 0; step < MAX_STEPS; step++) {
      const name = this.#pending.shift()
      const outcome = name === undefined ? this.#arrive('', this.#directory()) : await this.#enter(name)
      if (outcome) return outcome
    }
    return refuse('invalid_path', this.wish.path, 'The path takes too many turns. Name the file directly.')
  }

  /** Lets go of what was not handed out. */
  close(): void {
    if (this.#here) release(this.#here.fd)
    this.#here = undefined
  }

  async #start(text: PathText, then: readonly string[]): Promise<FileRefusal | undefined> {
    if (!text.isAbsolute) return this.#restart(this.wish.access.root, [...text.components, ...then])
    const located = await locate(this.wish.access, text.components)
    return located ? this.#restart(located.root, [...located.components, ...then]) : outside(this.wish.path)
  }

  async #restart(root: string, pending: readonly string[]): Promise<FileRefusal | undefined> {
    const held = await holdRoot(root).catch((error: unknown) => fromErrno(error, root))
    if ('kind' in held) return { ...held, message: `The workspace root cannot be used. ${held.message}` }
    this.#move(held)
    if (isOfTheKernel(held.fd)) return this.#kernelFiles()
    this.#given = root
    this.#real = whereabouts(held.fd)
    if (this.wish.access.isPinned && this.#real !== root) return swappedRoot(root)
    this.#device = held.stats.dev
    this.#components = []
    this.#pending = [...pending]
    return undefined
  }

  async #enter(name: string): Promise<Place | FileRefusal | undefined> {
    if (name === '..') {
      if (this.#components.length === 0) return outside(this.wish.path)
      return this.#restart(this.#given, [...this.#components.slice(0, -1), ...this.#pending])
    }
    const denied = this.#check([name])
    if (denied) return denied
    const child = await this.#hold(name)
    if (child === undefined) return this.#missing(name)
    if (child.stats.isSymbolicLink()) return this.#link(name, child)
    if (child.stats.dev !== this.#device && isOfTheKernel(child.fd)) {
      release(child.fd)
      return this.#kernelFiles()
    }
    if (!child.stats.isDirectory()) return this.#arrive(name, child)
    this.#move(child)
    this.#components.push(name)
    return undefined
  }

  async #hold(name: string): Promise<Descriptor | undefined> {
    try {
      return await holdChild(this.#directory().fd, name)
    } catch (error) {
      if (hasErrno(error, 'ENOENT')) return undefined
      throw error
    }
  }

  async #link(name: string, link: Descriptor): Promise<Place | FileRefusal | undefined> {
    if (!this.wish.followLast && this.#pending.length === 0) return this.#arrive(name, link)
    release(link.fd)
    if (++this.#links > MAX_LINKS)
      return refuse(
        'invalid_path',
        this.wish.path,
        `${this.wish.path} goes through too many links, perhaps in a circle.`,
      )
    const target = await readlink(heldPath(this.#directory().fd, name)).catch((error: unknown) => {
      // No longer a link: somebody put something else there. Look again.
      if (hasErrno(error, 'EINVAL')) return undefined
      throw error
    })
    if (target === undefined) {
      this.#pending.unshift(name)
      return undefined
    }
    const text = parsePath(target)
    if ('kind' in text) return { ...text, path: this.wish.path }
    if (text.isAbsolute) return this.#start(text, this.#pending)
    this.#pending.unshift(...text.components)
    return undefined
  }

  async #missing(name: string): Promise<Place | FileRefusal | undefined> {
    const rest = this.#pending
    if (rest.length === 0) return this.#arrive(name, undefined)
    if (this.wish.missingParents === 'refuse' || rest.includes('..')) return notFound(this.wish.path)
    for (let length = 1; length <= rest.length; length++) {
      const denied = this.#check([name, ...rest.slice(0, length)])
      if (denied) return denied
    }
    const denied = this.guard.mayWrite(this.wish.access, this.#spot([name, ...rest]), this.wish.path)
    if (denied) return denied
    if (this.wish.missingParents === 'pretend') {
      this.#components.push(name, ...rest.slice(0, -1))
      const last = rest.at(-1) ?? name
      rest.length = 0
      return this.#arrive(last, undefined)
    }
    await mkdir(heldPath(this.#directory().fd, name)).catch((error: unknown) => {
      if (!hasErrno(error, 'EEXIST')) throw error
    })
    rest.unshift(name)
    return undefined
  }

  #arrive(name: string, entry: Descriptor | undefined): Place | FileRefusal {
    if (entry && name !== '' && (this.#pending.length > 0 || this.text.meansFolder)) {
      release(entry.fd)
      return refuse('not_a_directory', this.wish.path, `A part of ${this.wish.path} is a file, not a folder.`)
    }
    if (!entry && this.text.meansFolder)
      return this.wish.intent === 'write'
        ? refuse('is_a_directory', this.wish.path, `${this.wish.path} names a folder. Name a file.`)
        : notFound(this.wish.path)
    const spot = this.#spot(name === '' ? [] : [name])
    const denied = name === '' ? this.guard.checkEnd(this.wish.access, spot, this.wish.path) : undefined
    if (denied) return denied
    const directory = this.#directory().fd
    this.#here = undefined
    return {
      path: shown(spot, this.wish.access),
      spot,
      directory,
      name,
      entry,
      close: () => {
        if (entry && entry.fd !== directory) release(entry.fd)
        release(directory)
      },
    }
  }

  #check(names: readonly string[]): FileRefusal | undefined {
    return this.guard.check(this.wish.access, this.#spot(names), this.wish.intent, this.wish.path)
  }

  #spot(names: readonly string[]): Spot {
    return { given: this.#given, real: this.#real, components: [...this.#components, ...names] }
  }

  #directory(): Descriptor {
    if (!this.#here) throw new Error('the walk has not started')
    return this.#here
  }

  #move(to: Descriptor): void {
    this.close()
    this.#here = to
  }

  #kernelFiles(): FileRefusal {
    return refuse(
      'not_a_file',
      this.wish.path,
      `${this.wish.path} lies in a file system of the kernel (/proc, /sys). Not for tools.`,
    )
  }
}

/** How a place is called towards the model: relative to the root, absolute beneath an extra directory. */
export const shown = (spot: Spot, access: FileAccess): string => {
  const tail = spot.components.join('/')
  if (spot.given === access.root) return tail === '' ? '.' : tail
  return tail === '' ? spot.given : `${spot.given.replace(/\/+$/, '')}/${tail}`
}
