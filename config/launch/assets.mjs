import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** What plugins ship besides code: every file in their folders `content`. */
export const assets = root => contentFiles(root, 'plugins')

/** Puts them beside the compiled code, and takes away what is no longer there. A file that is right is not touched. */
export function copyAssets(root) {
  const files = assets(root)
  for (const stale of contentFiles(join(root, 'dist'), 'plugins').filter(file => !files.includes(file)))
    rmSync(join(root, 'dist', stale))
  for (const file of files) {
    const bytes = readFileSync(join(root, file))
    const target = join(root, 'dist', file)
    if (isThere(target, bytes)) continue
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, bytes)
  }
}

/** For vitest: tests run on `dist`, however it was compiled. */
export const setup = () => copyAssets(join(import.meta.dirname, '../..'))

function contentFiles(root, plugins) {
  const folders = entriesOf(join(root, plugins)).filter(entry => entry.isDirectory())
  return folders.flatMap(({ name }) => filesIn(root, `${plugins}/${name}/content`))
}

const filesIn = (root, folder) =>
  entriesOf(join(root, folder)).flatMap(entry => {
    const path = `${folder}/${entry.name}`
    return entry.isDirectory() ? filesIn(root, path) : [path]
  })

function isThere(path, bytes) {
  try {
    return readFileSync(path).equals(bytes)
  } catch (error) {
    if (error.code === 'ENOENT') return false
    throw error
  }
}

function entriesOf(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    if (error.code === 'ENOENT') return []
    throw error
  }
}
