import { posix } from 'node:path'
import { Failure } from '#contracts/errors'
import type { RunRequest } from '#contracts/run/request'

/** In the state directory of a workspace; hidden from everybody else. */
export const DEFAULT_PLAN_FILE = '.runwright/plan.md'

/** Of the daemon and of git: whoever writes there decides what runs later. */
const CLOSED: ReadonlySet<string> = new Set(['.runwright', '.git'])

/** The one file a planning run may write, relative to its root. What is absolute or leads upwards means the default. */
export function planFileOf({ plan_file: wanted }: RunRequest): string {
  if (!wanted || posix.isAbsolute(wanted) || wanted.split('/').includes('..')) return DEFAULT_PLAN_FILE
  const path = posix.normalize(wanted)
  return path === '.' ? DEFAULT_PLAN_FILE : path
}

/** Refuses a plan file that no run may write. */
export function checkPlanFile(request: RunRequest): void {
  const refuse = (why: string): Failure => new Failure('invalid_request', `plan_file: ${why}`)
  const path = planFileOf(request)
  if (/[\u0000-\u001f\u007f]/.test(path)) throw refuse('must not hold control characters')
  if (path.endsWith('/')) throw refuse('must name a file, not a folder')
  if (path !== DEFAULT_PLAN_FILE && path.split('/').some(name => CLOSED.has(name.toLowerCase())))
    throw refuse(`must not lie in .git or .runwright; leave it out for ${DEFAULT_PLAN_FILE}`)
}

/** True when a tool's path is the plan file, written relative to the root or absolute. Links are not looked at here. */
export function isPlanFile(path: string, planFile: string, root: string): boolean {
  if (path.split('/').includes('..')) return false
  const absolute = posix.isAbsolute(path) ? posix.normalize(path) : posix.join(root, path)
  return absolute === posix.join(root, planFile)
}
