import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Failure } from '#contracts/errors'
import { operatorDirectory, workspaceDirectory } from './paths.js'

/** A profile's file, and whether it is the operator's own. */
export interface FoundProfile {
  readonly path: string
  readonly isTrusted: boolean
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** The deployment files that ship with the daemon: `config/` of the package, seen from `dist/config/`. */
const BUNDLED = resolve(import.meta.dirname, '../../config')

/**
 * The file of a named profile: the operator's (`~/.runwright/profiles`), else the one that ships with the daemon, else
 * the workspace's, which is read with a project file's rights only and can hide none of the others. Fails with
 * `invalid_request` naming every profile there is.
 */
export async function findProfile(name: string, home: string, workspace: () => string): Promise<FoundProfile> {
  const folders = [
    { folder: join(operatorDirectory(home), 'profiles'), isTrusted: true },
    { folder: BUNDLED, isTrusted: true },
    { folder: join(workspaceDirectory(workspace()), 'profiles'), isTrusted: false },
  ]
  const names = new Set<string>()
  for (const { folder, isTrusted } of folders) {
    const files = await tomlFiles(folder)
    if (NAME.test(name) && files.includes(`${name}.toml`)) return { path: join(folder, `${name}.toml`), isTrusted }
    for (const file of files) names.add(file.slice(0, -'.toml'.length))
  }
  const known = [...names].sort().slice(0, 50).join(', ')
  throw new Failure('invalid_request', `there is no profile "${name.slice(0, 64)}"; there are: ${known}`)
}

async function tomlFiles(folder: string): Promise<readonly string[]> {
  const files = await readdir(folder).catch(() => [])
  return files.filter(file => file.endsWith('.toml') && NAME.test(file))
}
