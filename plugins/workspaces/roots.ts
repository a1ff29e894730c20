import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, sep } from 'node:path'
import { Failure } from '#contracts/errors'
import type { ProvisionedWorkspace } from '#contracts/hooks'
import type { ActiveRun } from '#contracts/run/active-run'
import type { RunRequest } from '#contracts/run/request'
import type { WorkspaceRoots } from '#contracts/tool/tool'

/** What a sandbox has of its own: with the host's in its place, commands would see every process and its settings. */
const KERNEL_DIRECTORIES = /^\/(?:proc|sys)(?:\/|$)|^\/dev$/

/**
 * The request with the real paths of its directories. Refuses ones that are not absolute, not there, no directories, the
 * kernel's, or outside the operator's roots.
 */
export async function withRealRoots(request: RunRequest, allowedRoots: readonly string[]): Promise<RunRequest> {
  const { workspace_path: path, extra_dirs: extra } = request
  if (!path && !extra?.length) return request
  const real = path ? { workspace_path: await realDirectory('workspace_path', path, allowedRoots) } : {}
  if (!extra?.length) return { ...request, ...real }
  const dirs: string[] = []
  for (const [index, dir] of extra.entries()) dirs.push(await realDirectory(`extra_dirs[${index}]`, dir, allowedRoots))
  return { ...request, ...real, extra_dirs: dirs }
}

async function realDirectory(field: string, path: string, allowedRoots: readonly string[]): Promise<string> {
  const refuse = (why: string): Failure => new Failure('invalid_request', `${field}: ${why}`)
  if (!isAbsolute(path) || path.includes('\0')) throw refuse('must be an absolute path of an existing directory')
  const real = await realpath(path).catch(() => undefined)
  const found = real === undefined ? undefined : await stat(real).catch(() => undefined)
  if (real === undefined || !found) throw refuse(`there is no ${path}`)
  if (!found.isDirectory()) throw refuse(`${path} is not a directory`)
  if (KERNEL_DIRECTORIES.test(real)) throw refuse(`${path} belongs to the kernel; a sandbox has its own`)
  if (allowedRoots.length === 0) return real
  const roots = await Promise.all(allowedRoots.map(root => realpath(root).catch(() => root)))
  if (!roots.some(root => real === root || real.startsWith(root.endsWith(sep) ? root : root + sep)))
    throw refuse(`${path} is not below a directory the operator allows`)
  return real
}

/** The directories of an admitted request, pinned; or no opinion. Refuses ones that were replaced since. */
export async function pinnedRoots(run: ActiveRun): Promise<ProvisionedWorkspace | undefined> {
  const { workspace_path: path, extra_dirs: extraDirs = [] } = run.request
  if (!path && extraDirs.length === 0) return undefined
  const roots = { root: path || (await realpath(run.workspace.root)), extraDirs, isPinned: true }
  await refuseReplaced(roots)
  return roots
}

/**
 * Refuses directories that have become links, or lie behind one: whoever may write to the directory above could put one
 * there. What opens files looks again; this keeps commands out.
 */
export async function refuseReplaced({ root, extraDirs }: WorkspaceRoots): Promise<void> {
  for (const dir of [root, ...extraDirs])
    if ((await realpath(dir).catch(() => undefined)) !== dir)
      throw new Failure(
        'conflict',
        `${dir} is not the directory any more that the run was admitted with: it was moved or replaced by a link`,
      )
}
