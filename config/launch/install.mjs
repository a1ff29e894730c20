import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Stop, say, spawnThrough } from './process.mjs'

const STAMP = 'node_modules/.runwright-install.json'

/**
 * Makes `node_modules` what the lockfile says. Nothing is done when a stamp tells that it already is: same lockfile, same
 * kind of machine, same binary interface of Node (compiled packages depend on it).
 */
export async function install(root) {
  const wanted = stampOf(root)
  if (readOrNothing(join(root, STAMP)) === wanted) return
  if (isInstalled(root)) return writeFileSync(join(root, STAMP), wanted)
  say(
    existsSync(join(root, 'node_modules'))
      ? 'installed packages are not those of package-lock.json: installing'
      : 'installing packages from package-lock.json',
  )
  const nodedir = process.env.npm_config_nodedir ?? headersOfThisNode()
  await spawnThrough(['npm', 'ci', '--no-audit', '--no-fund'], {
    cwd: root,
    title: 'npm ci',
    isSetUp: true,
    // Without headers on disk node-gyp fetches them from nodejs.org, which many machines cannot reach.
    env: nodedir === undefined ? {} : { npm_config_nodedir: nodedir },
  }).catch(error => {
    if (!(error instanceof Stop)) throw error
    throw new Stop('the packages could not be installed (see above). Is the package registry reachable?', error.code)
  })
  mkdirSync(join(root, 'node_modules'), { recursive: true })
  writeFileSync(join(root, STAMP), wanted)
}

function stampOf(root) {
  const lock = readOrNothing(join(root, 'package-lock.json'))
  if (lock === undefined) throw new Stop(`${join(root, 'package-lock.json')} is missing; is this a full clone?`)
  const { arch, platform, versions } = process
  return JSON.stringify({
    lock: createHash('sha256').update(lock).digest('hex'),
    arch,
    platform,
    abi: versions.modules,
  })
}

/** Did somebody run `npm ci` by hand? npm leaves its own record of what it put there. */
function isInstalled(root) {
  const record = readOrNothing(join(root, 'node_modules/.package-lock.json'))
  if (record === undefined || existsSync(join(root, STAMP))) return false
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  const present = JSON.parse(record).packages
  return Object.entries(wanted).every(
    ([path, { version, integrity, optional }]) =>
      !path.startsWith('node_modules/') ||
      optional ||
      (present[path]?.version === version && present[path]?.integrity === integrity),
  )
}

/** A directory that holds `include/node` of exactly the Node that runs this. */
function headersOfThisNode() {
  return [dirname(dirname(process.execPath)), '/usr'].find(prefix => {
    const header = readOrNothing(join(prefix, 'include/node/node_version.h')) ?? ''
    const part = name => new RegExp(`#define NODE_${name}_VERSION (\\d+)`).exec(header)?.[1]
    return `${part('MAJOR')}.${part('MINOR')}.${part('PATCH')}` === process.versions.node
  })
}

function readOrNothing(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  }
}
