import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '#contracts/errors'
import { type Catalog, parseCatalog } from './catalog.js'

const MAX_FILE_BYTES = 256 * 1024
const MAX_EXTENSIONS = 200
const BASE = 'base/main.md'
const CATALOG = 'catalog.toml'

export interface ModelProfile {
  readonly name: string
  /** `*` stands for any run of characters. */
  readonly match: string
  readonly text: string
}

/** The prompts of a directory, in memory. */
export interface PromptLibrary {
  readonly base: string
  readonly intents: ReadonlyMap<string, string>
  readonly modelProfiles: readonly ModelProfile[]
  readonly behaviors: ReadonlyMap<string, string>
  readonly talents: ReadonlyMap<string, string>
  readonly defaultIntent: string
  readonly defaultModelProfile: string
}

/** Loads a prompts directory whole; throws an error that names the file and what is wrong with it. */
export async function loadLibrary(dir: string): Promise<PromptLibrary> {
  const text = await readText(dir, CATALOG)
  const catalog = await parseCatalog(text).catch((error: unknown) => {
    throw new Error(`${join(dir, CATALOG)}: ${messageOf(error)}`, { cause: error })
  })
  const { defaults = {}, extensions = {}, intents = {}, model_profiles: profiles = [] } = catalog
  const [base, intentTexts, modelProfiles, behaviors, talents] = await Promise.all([
    readText(dir, BASE),
    Promise.all(Object.entries(intents).map(async ([name, file]) => [name, await readText(dir, file)] as const)),
    Promise.all(profiles.map(async ({ name, match, file }) => ({ name, match, text: await readText(dir, file) }))),
    extensionsOf(dir, extensions.behaviors_dir),
    extensionsOf(dir, extensions.talents_dir),
  ])
  return checked(dir, {
    base,
    intents: new Map(intentTexts),
    modelProfiles,
    behaviors,
    talents,
    ...defaultsOf(defaults),
  })
}

const defaultsOf = ({ intent = '', model_profile = 'default' }: NonNullable<Catalog['defaults']>) => ({
  defaultIntent: intent,
  defaultModelProfile: model_profile,
})

function checked(dir: string, library: PromptLibrary): PromptLibrary {
  const { defaultIntent, intents } = library
  if (defaultIntent !== '' && !intents.has(defaultIntent))
    throw new Error(`${join(dir, CATALOG)}: defaults.intent: there is no intent "${defaultIntent}"`)
  return library
}

/** The files of a folder by their names without `.md`; a folder that is not there has none. */
async function extensionsOf(dir: string, folder: string | undefined): Promise<ReadonlyMap<string, string>> {
  if (folder === undefined) return new Map()
  const names = await readdir(join(dir, folder)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new Error(`${join(dir, folder)} cannot be read: ${error.message}`, { cause: error })
  })
  const files = names.filter(name => name.endsWith('.md') && !name.startsWith('.')).sort()
  if (files.length > MAX_EXTENSIONS) throw new Error(`${join(dir, folder)} holds more than ${MAX_EXTENSIONS} files`)
  const texts = await Promise.all(files.map(name => readText(dir, join(folder, name))))
  return new Map(files.map((name, index) => [name.slice(0, -'.md'.length), texts[index] as string]))
}

async function readText(dir: string, file: string): Promise<string> {
  const path = join(dir, file)
  const handle = await open(path).catch((error: unknown) => {
    throw new Error(`${path} cannot be read: ${messageOf(error)}`, { cause: error })
  })
  try {
    const { size } = await handle.stat()
    if (size > MAX_FILE_BYTES) throw new Error(`${path} is larger than ${MAX_FILE_BYTES} bytes`)
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}
