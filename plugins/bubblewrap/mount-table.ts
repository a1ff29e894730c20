import { join, relative } from 'node:path'
import { isBelow } from './below.js'

interface Entry {
  readonly id: string
  readonly parent: string
  /** The file system, `major:minor`. */
  readonly device: string
  /** What of the file system is mounted. */
  readonly root: string
  readonly path: string
}

/** A directory or file by the name its file system has for it, which no link changes. */
export interface Located {
  readonly device: string
  readonly name: string
  /** Where the mount it is found in lies. */
  readonly mountPoint: string
}

/** The mounts of a process, as `/proc/PID/mountinfo` tells them; paths in latin1, a character for each byte. */
export class MountTable {
  readonly #first: Entry | undefined
  readonly #children = new Map<string, Entry[]>()
  readonly #located = new Map<string, Located>()

  /** Of a launcher that is still at work: of what it has built so far, not of what it will leave behind. */
  constructor(text: string) {
    const top = text.includes(` ${UNFINISHED} `) ? UNFINISHED : ''
    const ids = new Set<string>()
    const entries: Entry[] = []
    for (const line of text.split('\n')) {
      const entry = parse(line, top)
      if (!entry) continue
      entries.push(entry)
      ids.add(entry.id)
    }
    for (const entry of entries) {
      const isFirst = entry.parent === entry.id || !ids.has(entry.parent)
      if (isFirst && entry.path === '/') this.#first ??= entry
      if (isFirst) continue
      const siblings = this.#children.get(entry.parent)
      if (siblings) siblings.push(entry)
      else this.#children.set(entry.parent, [entry])
    }
  }

  /** What an absolute path without links leads to; undefined when the table has no beginning. */
  locate(path: string): Located | undefined {
    const known = this.#located.get(path)
    if (known || !this.#first) return known
    let at = this.#first
    for (let next: Entry | undefined = at; next; next = this.#nextOnTheWay(at, path)) at = next
    const located = { device: at.device, name: join(at.root, relative(at.path, path)), mountPoint: at.path }
    if (this.#located.size >= MOST_KNOWN) this.#located.clear()
    this.#located.set(path, located)
    return located
  }

  #nextOnTheWay(from: Entry, path: string): Entry | undefined {
    let nearest: Entry | undefined
    for (const entry of this.#children.get(from.id) ?? [])
      if (isBelow(path, entry.path) && (!nearest || entry.path.length < nearest.path.length)) nearest = entry
    return nearest
  }
}

const MOST_KNOWN = 1000

/** Where bwrap builds a root until it moves there. */
const UNFINISHED = '/newroot'

function parse(line: string, top: string): Entry | undefined {
  const [id, parent, device, root, path] = line.split(' ', 5)
  if (!id || !parent || !device || !root || !path || !isBelow(path, top || '/')) return undefined
  return { id, parent, device, root: unescaped(root), path: unescaped(path.slice(top.length)) || '/' }
}

/** Blanks and backslashes come as octal numbers of their bytes. */
const unescaped = (text: string): string =>
  text.includes('\\')
    ? text.replace(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)))
    : text
