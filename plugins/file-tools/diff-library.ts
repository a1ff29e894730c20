import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** The diff library, loaded on first use: most starts of the daemon never need it, and tool subjects are named without waiting. */
export const diffLibrary = (): typeof import('diff') => require('diff')
