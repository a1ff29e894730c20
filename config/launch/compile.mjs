import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assets, copyAssets } from './assets.mjs'
import { pack, packProgram } from './pack.mjs'
import { Stop, say, spawnThrough } from './process.mjs'
import { vendor } from './vendor.mjs'

const STAMP = 'dist/.runwright-build.json'
const SETTINGS = ['tsconfig.json', 'package-lock.json']

/**
 * Makes `dist` what the sources say. Nothing is done when a stamp tells that it already is: the same files with the same
 * size and time. `dist` is emptied first only when a source is gone, for then its output would stay and be loaded.
 */
export async function compile(root) {
  const files = [...sources(root), ...assets(root)]
  const digest = digestOf(root, files)
  const stamp = readStamp(root)
  if (stamp.digest === digest) return
  const present = new Set(files)
  if (stamp.files?.some(file => !present.has(file))) rmSync(join(root, 'dist'), { recursive: true, force: true })
  const started = performance.now()
  await spawnThrough([process.execPath, join(root, 'node_modules/typescript/bin/tsc'), '-p', '.'], {
    cwd: root,
    title: `compiling ${files.length - SETTINGS.length} files`,
    isSetUp: true,
  }).catch(error => {
    if (!(error instanceof Stop)) throw error
    throw new Stop('the sources do not compile (see above)', error.code)
  })
  copyAssets(root)
  await vendor(root)
  await pack(root)
  await packProgram(root)
  // The digest from before: a file that was saved meanwhile makes the next start compile again.
  writeFileSync(join(root, STAMP), JSON.stringify({ digest, files }))
  say(`compiled in ${((performance.now() - started) / 1000).toFixed(1)} s`)
}

function sources(root) {
  const { include } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))
  const files = [...SETTINGS]
  const visit = folder => {
    for (const entry of entriesOf(join(root, folder))) {
      if (entry.isDirectory()) {
        if (entry.name !== 'node_modules') visit(`${folder}/${entry.name}`)
      } else if (entry.name.endsWith('.ts')) files.push(`${folder}/${entry.name}`)
    }
  }
  include.forEach(visit)
  return files
}

function digestOf(root, files) {
  const hash = createHash('sha256')
  for (const file of files) {
    const { mtimeMs, size } = statSync(join(root, file))
    hash.update(`${file}\n${mtimeMs}\n${size}\n`)
  }
  return hash.digest('hex')
}

function entriesOf(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    if (error.code === 'ENOENT') return []
    throw error
  }
}

function readStamp(root) {
  try {
    return JSON.parse(readFileSync(join(root, STAMP), 'utf8'))
  } catch {
    return {}
  }
}
