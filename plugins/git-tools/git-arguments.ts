import { Type } from '@sinclair/typebox'
import type { ToolResult } from '#contracts/tool/tool'

/** Check it with `wrongRevision` before git sees it. */
export const Revision = (description: string) => Type.String({ minLength: 1, maxLength: 256, description })

/** Why the first wrong one is none. A revision is never an option: no dash in front, no white space. */
export function wrongRevision(...revisions: readonly (string | undefined)[]): ToolResult | undefined {
  const wrong = revisions.find(revision => revision !== undefined && !/^[^\s\-\p{Cc}][^\s\p{Cc}]*$/u.test(revision))
  if (wrong === undefined) return undefined
  const message = `${JSON.stringify(wrong)} is no revision. Give a branch, a tag, a commit or something like HEAD~2, without white space or a dash in front.`
  return { error: { code: 'invalid_revision', message } }
}

export const GitPath = Type.String({
  minLength: 1,
  maxLength: 4096,
  pattern: '^[^\\x00]+$',
  description: 'Relative to the workspace root.',
})

export const Since = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^[^\\x00-\\x1f\\x7f]+$',
  description: 'Only commits after this date, such as 2024-05-01 or "3 weeks ago".',
})

export const pathspec = (path: string | undefined): readonly string[] => (path === undefined ? ['--'] : ['--', path])
export const sinceOption = (since: string | undefined): readonly string[] =>
  since === undefined ? [] : [`--since=${since}`]

/** Never runs a program of the repository. */
export const DIFF_OPTIONS = ['--no-ext-diff', '--no-textconv', '--no-color', '--ignore-submodules=dirty'] as const

export const GIT_TOOL = {
  action: 'read',
  owner: 'core',
  condition: 'sandbox installed',
} as const
