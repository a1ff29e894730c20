import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { complain } from '../complain.js'
import type { CliEnvironment } from '../environment.js'
import { pluginFiles } from './plugin-files.js'

const KEBAB_CASE = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
const MAX_NAME_CHARACTERS = 50

/** Writes a plugin folder that works as it stands; touches nothing that is already there. */
export async function writePlugin(
  environment: CliEnvironment,
  name: string,
  options: { readonly dir?: string },
): Promise<number> {
  if (!KEBAB_CASE.test(name) || name.length > MAX_NAME_CHARACTERS)
    return complain(environment, `a plugin name is kebab-case, such as word-count; not "${name}"`)
  const parent = resolve(
    environment.cwd,
    options.dir ?? ((await isDirectory(resolve(environment.cwd, 'plugins'))) ? 'plugins' : '.'),
  )
  const folder = join(parent, name)
  await mkdir(dirname(folder), { recursive: true })
  try {
    await mkdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return complain(environment, `${folder} is already there`)
    throw error
  }
  for (const [file, text] of Object.entries(pluginFiles(name)))
    await writeFile(join(folder, file), text, { flag: 'wx' })
  const below = relative(environment.cwd, folder)
  const shown = below.startsWith('..') ? folder : below
  const toLoad = (await isBundledFolder(parent))
    ? 'npm run build   # compiles it; a running daemon then picks it up, as it does after each later build'
    : `SVC_PLUGIN_DIRS=${folder} npm start   # loads it; what you save later is picked up within seconds`
  const files = Object.keys(pluginFiles(name)).join(', ')
  environment.stdout.write(
    `wrote ${shown}: ${files}\n\n  runwright plugin check ${shown}   # does it keep the contract?\n  ${toLoad}\n`,
  )
  return 0
}

/** `plugins/` of this package itself: what lies there is compiled before it is loaded. */
async function isBundledFolder(parent: string): Promise<boolean> {
  if (basename(parent) !== 'plugins') return false
  const manifest = await readFile(join(dirname(parent), 'package.json'), 'utf8').catch(() => '{}')
  return /"name":\s*"runwright"/.test(manifest)
}

const isDirectory = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() ?? false
