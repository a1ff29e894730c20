import { realpath } from 'node:fs/promises'
import type { FileAccess } from '#contracts/workspace-files'

/** A root and what remains of an absolute path beneath it. */
export interface Located {
  readonly root: string
  readonly components: readonly string[]
}

/**
 * Finds the root an absolute path starts with: the longest, as configured, else by the roots' real names (a shell in a
 * linked root prints those). Says nothing about the rest, which is walked.
 */
export async function locate(access: FileAccess, components: readonly string[]): Promise<Located | undefined> {
  const named = locateByName(access, components)
  if (named !== undefined) return named
  const roots = [access.root, ...access.extraDirs]
  const real = await Promise.all(
    roots.map(async root => ({ root, parts: split(await realpath(root).catch(() => root)) })),
  )
  return longest(real, components)
}

/** The same, going by the configured names of the roots only. */
export const locateByName = (access: FileAccess, components: readonly string[]): Located | undefined =>
  longest(
    [access.root, ...access.extraDirs].map(root => ({ root, parts: split(root) })),
    components,
  )

function longest(
  roots: readonly { readonly root: string; readonly parts: readonly string[] }[],
  components: readonly string[],
): Located | undefined {
  const [best] = roots
    .filter(({ parts }) => parts.every((part, index) => components[index] === part))
    .sort((a, b) => b.parts.length - a.parts.length)
  return best && { root: best.root, components: components.slice(best.parts.length) }
}

const split = (path: string): readonly string[] => path.split('/').filter(part => part !== '' && part !== '.')
