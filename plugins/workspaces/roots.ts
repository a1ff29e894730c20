import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, sep } from 'node:path'
import { Failure } from '#contracts/errors'
import type { ProvisionedWorkspace } from '#contracts/hooks'
import type { ActiveRun } from '#contracts/run/active-run'
import type { RunRequest } from '#contracts/run/request'

/** Refuses a request whose directories are not absolute, not there, no directories, or outside the operator's roots. */
export async function checkRoots(request: RunRequest, allowedRoots: readonly string[]): Promise<void> {
  if (request.workspace_path) await checkDirectory('workspace_path', request.workspace_path, allowedRoots)
  for (const [index, path] of (request.extra_dirs ?? []).entries())
    await checkDirectory(`extra_dirs[${index}]`, path, allowedRoots)
}

async function checkDirectory(field: string, path: string, allowedRoots: readonly string[]): Promise<void> {
  const refuse = (why: string): Failure => new Failure('invalid_request', `${field}: ${why}`)
  if (!isAbsolute(path) || path.includes('\0')) throw refuse('must be an absolute path of an existing directory')
  const found = await stat(path).catch(() => undefined)
  if (!found) throw refuse(`there is no ${path}`)
  if (!found.isDirectory()) throw refuse(`${path} is not a directory`)
  if (allowedRoots.length === 0) return
  const real = await realpath(path)
  const roots = await Promise.all(allowedRoots.map(root => realpath(root).catch(() => root)))
  if (!roots.some(root => real === root || real.startsWith(root.endsWith(sep) ? root : root + sep)))
    throw refuse(`${path} is not below a directory the operator allows`)
}

/** The directories of the request, or no opinion. */
export function rootsOf(run: ActiveRun): ProvisionedWorkspace | undefined {
  const { workspace_path: path, extra_dirs: extra } = run.request
  if (!path && !extra?.length) return undefined
  return { root: path || run.workspace.root, extraDirs: extra ?? [] }
}
