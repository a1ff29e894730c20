import { Type } from '@sinclair/typebox'
import type { Sandbox } from '#contracts/sandbox'
import { defineTool, type ToolResult } from '#contracts/tool/tool'
import { complaintOf } from './complaint.js'
import { DIFF_OPTIONS, GIT_TOOL, GitPath, pathspec, Revision, wrongRevision } from './git-arguments.js'
import { openGit } from './run-git.js'

const STATUS_BYTES = 256 * 1024
const DIFF_BYTES = 131_072

export const MaxBytes = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 1_048_576, default: DIFF_BYTES, description: 'Most bytes of diff to return.' }),
)

/** `git_status`. */
export const createStatusTool = (sandbox: Sandbox) =>
  defineTool({
    ...GIT_TOOL,
    name: 'git_status',
    description:
      'Show which files of the git repository changed. With porcelain (default) two letters and a path per line.',
    parameters: Type.Object({ porcelain: Type.Optional(Type.Boolean({ default: true })) }),
    tags: ['git', 'status', 'changes'],
    async execute({ porcelain = true }, context) {
      const git = await openGit(sandbox, context)
      const short = ['status', '--porcelain=v1', '--ignore-submodules=dirty', '--']
      const answer = await git(short, STATUS_BYTES)
      const complaint = complaintOf(answer)
      if (complaint) return complaint.result
      if (answer.kind === 'failed') return answer.result
      const long = porcelain ? answer : await git(['status', '--long', '--ignore-submodules=dirty', '--'], STATUS_BYTES)
      if (long.kind === 'failed') return long.result
      return {
        output: {
          clean: answer.output === '',
          output: long.output,
          exit_code: long.exitCode,
          timed_out: long.isTimedOut,
          ...(long.isTruncated && { truncated: true }),
        },
      }
    },
  })

/** `git_diff`. */
export const createDiffTool = (sandbox: Sandbox) =>
  defineTool({
    ...GIT_TOOL,
    name: 'git_diff',
    description:
      'Show changes of the working tree against the index, of the index (staged), or against a revision (target).',
    parameters: Type.Object({
      path: Type.Optional(GitPath),
      staged: Type.Optional(Type.Boolean({ description: 'What is staged for the next commit.' })),
      target: Type.Optional(Revision('Compare with this revision, or show a range a..b.')),
      max_bytes: MaxBytes,
    }),
    tags: ['git', 'diff', 'changes'],
    subject: ({ path, target }) => ({ ...(path !== undefined && { paths: [path] }), ...(target && { text: target }) }),
    async execute({ path, staged, target, max_bytes = DIFF_BYTES }, context): Promise<ToolResult> {
      const wrong = wrongRevision(target)
      if (wrong) return wrong
      const git = await openGit(sandbox, context)
      const revision = target === undefined ? [] : ['--end-of-options', target]
      const args = ['diff', ...DIFF_OPTIONS, ...(staged ? ['--cached'] : []), ...revision, ...pathspec(path)]
      const answer = await git(args, max_bytes)
      const complaint = complaintOf(answer)
      if (complaint) return complaint.result
      if (answer.kind === 'failed') return answer.result
      return {
        output: {
          diff: answer.output,
          truncated: answer.isTruncated,
          exit_code: answer.exitCode,
          timed_out: answer.isTimedOut,
        },
      }
    },
  })
