import { realpath } from 'node:fs/promises'
import { sep } from 'node:path'
import type { RunRequest } from '#contracts/run/request'
import type { Above } from './hold.js'

/**
 * Refuses directories that do not lie, links resolved, below the allowed roots; also the daemon's workspace, where a run
 * works that names none. What passes is replaced by its real path, so that a link changed later leads nowhere else.
 */
export async function holdRoots(
  request: RunRequest,
  roots: readonly string[] | undefined,
  workspace: string,
  above: Above,
): Promise<Partial<RunRequest>> {
  if (roots === undefined) return {}
  const allowed = roots.length > 0 ? roots : [workspace]
  const reals = await Promise.all(allowed.map(realOf))
  const check = async (field: string, path: string, isDefault = false): Promise<string> => {
    const real = await realOf(path)
    if (reals.some(root => real === root || real.startsWith(root.endsWith(sep) ? root : root + sep))) return real
    const what = isDefault ? 'must be given here: the daemon’s own workspace' : path
    throw above(field, `${what} is not below an allowed directory (${allowed.join(', ')})`, allowed)
  }
  const { workspace_path: path, extra_dirs: extra = [] } = request
  if (!path) await check('workspace_path', workspace, true)
  const held = path ? { workspace_path: await check('workspace_path', path) } : {}
  if (extra.length === 0) return held
  const dirs = await Promise.all(extra.map((dir, index) => check(`extra_dirs[${index}]`, dir)))
  return { ...held, extra_dirs: dirs }
}

const realOf = (path: string): Promise<string> => realpath(path).catch(() => path)
