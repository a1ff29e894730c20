import { readdirSync, readFileSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { messageOf } from '#contracts/errors'
import { refuseCatalog } from './mistake.js'

export type Table = Readonly<Record<string, unknown>>

export const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const LARGEST_FILE_BYTES = 16 * 1024 * 1024

/** How files are read. Both throw what `node:fs` throws. */
export interface Disk {
  text(file: string): string | Promise<string>
  names(folder: string): readonly string[] | Promise<readonly string[]>
}

/** For files a deployment names, wherever they lie. */
export const DISK: Disk = { text: file => readFile(file, 'utf8'), names: folder => readdir(folder) }

/** For the plugin's own folder, which was read a moment ago: 16 small files in 0.5 ms, and 3 through the thread pool. */
export const NEAR_DISK: Disk = { text: file => readFileSync(file, 'utf8'), names: folder => readdirSync(folder) }

/** The object a JSON file holds. Throws a `Failure` that names the file. */
export async function readJson(file: string, disk = DISK): Promise<Table> {
  const text = await readText(file, disk)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw refuseCatalog([{ file, field: '', why: 'it is not JSON' }])
  }
  if (isTable(value)) return value
  throw refuseCatalog([{ file, field: '', why: 'it must hold one JSON object' }])
}

async function readText(file: string, disk: Disk): Promise<string> {
  try {
    return await disk.text(file)
  } catch (error) {
    throw refuseCatalog([{ file, field: '', why: `it cannot be read (${messageOf(error)})` }])
  }
}

/** A deployment's own path: must be there, and a file of a size that a catalog has, or a folder. */
export async function kindOf(path: string): Promise<'file' | 'folder'> {
  const found = await stat(path).catch((error: unknown) => {
    throw refuseCatalog([{ file: path, field: '', why: `it cannot be read (${messageOf(error)})` }])
  })
  if (found.isDirectory()) return 'folder'
  if (!found.isFile()) throw refuseCatalog([{ file: path, field: '', why: 'it is neither a file nor a folder' }])
  if (found.size > LARGEST_FILE_BYTES)
    throw refuseCatalog([{ file: path, field: '', why: 'it is larger than 16 MiB; is this really a catalog?' }])
  return 'file'
}
