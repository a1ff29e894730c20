import { basename, join } from 'node:path'
import { refuseCatalog } from './mistake.js'
import { DISK, type Disk, isTable, kindOf, NEAR_DISK, readJson, type Table } from './read-json.js'

/** A provider as it was written, unchecked, with the place to name when something in it is wrong. */
export interface ProviderDraft {
  readonly entry: unknown
  readonly file: string
  /** What fields of the entry are called there: empty, or `providers.<name>.`. */
  readonly path: string
  /** Comes with the plugin, untouched: the plugin's own test has checked its fields. */
  readonly isShipped?: boolean
}

/** A catalog as it was written. */
export interface CatalogDraft {
  readonly version: string
  readonly file: string
  readonly providers: ReadonlyMap<string, ProviderDraft>
}

const HEAD = 'catalog.json'

/**
 * Reads a catalog: a file `{catalog_version, providers}`, or a folder with such a `catalog.json`, whose `providers` may be
 * missing, and one file per provider in `providers/`, named after it.
 */
export async function readCatalog(path: string): Promise<CatalogDraft> {
  return (await kindOf(path)) === 'file' ? readFile(path) : readFolder(path)
}

async function readFile(file: string): Promise<CatalogDraft> {
  const table = await readJson(file)
  return { version: versionOf(table, file), file, providers: draftsOf(table, file) }
}

/** Reads the folder that comes with the plugin. */
export async function readShipped(dir: string): Promise<CatalogDraft> {
  const catalog = await readFolder(dir, NEAR_DISK)
  const providers = [...catalog.providers].map(([name, draft]) => [name, { ...draft, isShipped: true }] as const)
  return { ...catalog, providers: new Map(providers) }
}

async function readFolder(dir: string, disk = DISK): Promise<CatalogDraft> {
  const folder = join(dir, 'providers')
  const head = await readJson(join(dir, HEAD), disk)
  const names = await namesIn(folder, disk)
  const files = names.filter(name => name.endsWith('.json')).sort()
  const entries = await Promise.all(files.map(name => readJson(join(folder, name), disk)))
  const providers = new Map(draftsOf(head, join(dir, HEAD)))
  for (const [index, entry] of entries.entries()) {
    const file = join(folder, files[index] as string)
    providers.set(basename(file, '.json'), { entry, file, path: '' })
  }
  return { version: versionOf(head, join(dir, HEAD)), file: dir, providers }
}

/** A catalog may do without the folder. */
async function namesIn(folder: string, disk: Disk): Promise<readonly string[]> {
  try {
    return await disk.names(folder)
  } catch {
    return []
  }
}

function versionOf(table: Table, file: string): string {
  const { catalog_version: version } = table
  if (typeof version === 'string' && version !== '') return version
  throw refuseCatalog([{ file, field: 'catalog_version', why: 'it must be text that is not empty' }])
}

function draftsOf({ providers = {} }: Table, file: string): ReadonlyMap<string, ProviderDraft> {
  if (!isTable(providers)) throw refuseCatalog([{ file, field: 'providers', why: 'it must be an object' }])
  return new Map(Object.entries(providers).map(([name, entry]) => [name, { entry, file, path: `providers.${name}.` }]))
}
