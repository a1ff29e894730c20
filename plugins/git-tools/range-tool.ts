import { Type } from '@sinclair/typebox'
import type { Sandbox } from '#contracts/sandbox'
import { defineTool, type ToolResult } from '#contracts/tool/tool'
import { complaintOf } from './complaint.js'
import { DIFF_OPTIONS, GIT_TOOL, GitPath, pathspec, Revision, wrongRevision } from './git-arguments.js'
import { openGit } from './run-git.js'
import { MaxBytes } from './status-diff-tools.js'

const DIFF_BYTES = 131_072
const STAT_BYTES = 1024 * 1024
const MAX_STAT_FILES = 200

/** `git_diff_range`. */
export const createRangeTool = (sandbox: Sandbox) =>
  defineTool({
    ...GIT_TOOL,
    name: 'git_diff_range',
    description:
      'Show what changed between two revisions: files with counts, and the diff (leave it out with stat_only).',
    parameters: Type.Object({
      from: Revision('The older revision.'),
      to: Type.Optional(Revision('The newer revision. Default: HEAD.')),
      path: Type.Optional(GitPath),
      stat_only: Type.Optional(Type.Boolean({ default: false })),
      max_bytes: MaxBytes,
    }),
    tier: 'deferred',
    tags: ['git', 'diff', 'range', 'compare'],
    subject: ({ from, to = 'HEAD', path }) => ({ text: `${from} ${to}`, ...(path !== undefined && { paths: [path] }) }),
    async execute(
      { from, to = 'HEAD', path, stat_only = false, max_bytes = DIFF_BYTES },
      context,
    ): Promise<ToolResult> {
      const wrong = wrongRevision(from, to)
      if (wrong) return wrong
      const git = await openGit(sandbox, context)
      const range = [...DIFF_OPTIONS, '--no-renames']
      const ends = ['--end-of-options', from, to, ...pathspec(path)]
      const counted = await git(['diff', ...range, '--numstat', '-z', ...ends], STAT_BYTES)
      const complaint = complaintOf(counted)
      if (complaint) return complaint.result
      if (counted.kind === 'failed') return counted.result
      const files = parseNumstat(counted.output)
      const shown = stat_only ? undefined : await git(['diff', ...range, ...ends], max_bytes)
      if (shown?.kind === 'failed') return shown.result
      const problem = shown && complaintOf(shown)
      if (problem) return problem.result
      return {
        output: {
          from,
          to,
          diff: shown?.output ?? '',
          stat: statOf(files),
          files_changed: files.length,
          insertions: files.reduce((sum, { added }) => sum + (added ?? 0), 0),
          deletions: files.reduce((sum, { removed }) => sum + (removed ?? 0), 0),
          truncated: counted.isTruncated || (shown?.isTruncated ?? false),
        },
      }
    },
  })

interface CountedFile {
  readonly path: string
  /** Undefined for a binary file. */
  readonly added?: number
  readonly removed?: number
}

const parseNumstat = (output: string): readonly CountedFile[] =>
  output.split('\0').flatMap((row): readonly CountedFile[] => {
    const [, added, removed, path] = /^(\d+|-)\t(\d+|-)\t(.+)$/s.exec(row) ?? []
    if (path === undefined) return []
    return [added === '-' ? { path } : { path, added: Number(added), removed: Number(removed) }]
  })

function statOf(files: readonly CountedFile[]): string {
  const rows = files
    .slice(0, MAX_STAT_FILES)
    .map(({ path, added, removed }) => (added === undefined ? `${path} | binary` : `${path} | +${added} -${removed}`))
  return [
    ...rows,
    ...(files.length > MAX_STAT_FILES ? [`... and ${files.length - MAX_STAT_FILES} more files`] : []),
  ].join('\n')
}
