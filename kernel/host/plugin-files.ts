import { createHash } from 'node:crypto'
import { closeSync, constants, lstatSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'

const MAX_FILES = 2000
const MAX_BYTES = 32 * 1024 * 1024
/** Raise it when staging turns the same sources into other text. */
const RECIPE = '1'
/** A manifest of its own would change what imports mean inside the staged copy; maps would double what a start reads. */
const NEVER_STAGED = /^(\..*|node_modules|package(-lock)?\.json|.*\.d\.[cm]?ts|.*\.map|.*\.test\.[^/]*|.*~)$/

/** The files of a plugin folder that make up its code, in memory, with a name for exactly this content. */
export interface PluginFiles {
  /** By path inside the folder, forward slashes, sorted. */
  readonly contents: ReadonlyMap<string, Buffer>
  /** Names the content and what it resolves packages from. */
  readonly hash: string
  /** The folder's own packages; linked, never copied. */
  readonly packages: string | undefined
}

/**
 * Reads a plugin folder. Tests, declarations, hidden files, package manifests and `node_modules` are left out. Fails on
 * links and devices inside the folder, and on folders too large to be a plugin.
 */
export async function readPluginFiles(dir: string): Promise<PluginFiles> {
  const contents = new Map(walk(dir).map(path => [path, readWhole(join(dir, path))]))
  const packages = await realpath(join(dir, 'node_modules')).catch(() => undefined)
  return { contents, packages, hash: digestOf(contents, `${RECIPE}\0${packages ?? ''}`) }
}

/** One name for one content; paths and lengths are part of it, so that files cannot run into each other. */
export function digestOf(contents: ReadonlyMap<string, Buffer>, seed = ''): string {
  const hash = createHash('sha256').update(seed)
  for (const [path, text] of contents) hash.update(`\0${path}\0${text.length}\0`).update(text)
  return hash.digest('hex').slice(0, 16)
}

/** In one go: 20 µs a file, and 200 when the thread pool does each step of it. */
function readWhole(path: string): Buffer {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}

function walk(dir: string): readonly string[] {
  const found: string[] = []
  const folders = ['']
  let bytes = 0
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of readdirSync(join(dir, folder), { withFileTypes: true })) {
      if (NEVER_STAGED.test(entry.name)) continue
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) folders.push(path)
      else if (entry.isFile()) {
        found.push(path)
        bytes += lstatSync(join(dir, path)).size
      } else throw new Error(`holds ${path}, which is a link or a device; a plugin folder holds plain files only`)
      if (found.length > MAX_FILES) throw new Error(`holds more than ${MAX_FILES} files`)
      if (bytes > MAX_BYTES) throw new Error(`holds more than ${MAX_BYTES / 1024 / 1024} MiB`)
    }
  }
  return found.sort()
}
