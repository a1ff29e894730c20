/** True for a path beneath `root`, and for `root` itself. */
export const isBelow = (path: string, root: string): boolean =>
  path === root || path.startsWith(root === '/' ? '/' : `${root}/`)
