import { Type } from '@sinclair/typebox'
import type { Sandbox } from '#contracts/sandbox'
import { defineTool } from '#contracts/tool/tool'
import { COMMIT_FORMAT, type Commit, parseCommits } from './commits.js'
import { complaintOf } from './complaint.js'
import { DIFF_OPTIONS, GIT_TOOL, GitPath, pathspec, Since, sinceOption } from './git-arguments.js'
import { type GitFailed, openGit } from './run-git.js'

const MAX_LOG_BYTES = 2 * 1024 * 1024
const MAX_DIFF_LOG_BYTES = 256 * 1024

const Mode = Type.Union([Type.Literal('message'), Type.Literal('pickaxe'), Type.Literal('both')], {
  default: 'message',
  description: 'message: commit messages. pickaxe: commits that add or remove the text. both.',
})

/** `git_log_search`. */
export const createLogSearchTool = (sandbox: Sandbox) =>
  defineTool({
    ...GIT_TOOL,
    name: 'git_log_search',
    description: 'Search the git history for a text, in commit messages or in what commits changed. Newest first.',
    parameters: Type.Object({
      query: Type.String({ minLength: 1, maxLength: 1000, pattern: '^[^\\x00]+$' }),
      mode: Type.Optional(Mode),
      path: Type.Optional(GitPath),
      max_results: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
      since: Type.Optional(Since),
    }),
    tier: 'deferred',
    tags: ['git', 'history', 'log', 'search', 'commits'],
    subject: ({ query, path }) => ({ text: query, ...(path !== undefined && { paths: [path] }) }),
    async execute({ query, mode = 'message', path, max_results = 20, since }, context) {
      const git = await openGit(sandbox, context)
      const found = new Map<string, Commit>()
      let isStopped = false
      for (const filter of filtersOf(query, mode)) {
        const limits = [`--max-count=${max_results + 1}`, ...sinceOption(since)]
        const args = ['log', ...DIFF_OPTIONS, COMMIT_FORMAT, ...limits, ...filter, ...pathspec(path)]
        const answer = await git(args, MAX_LOG_BYTES)
        // A search that took too long still tells what it found.
        if (answer.kind === 'answered' && answer.isTimedOut) isStopped = true
        else {
          const complaint = complaintOf(answer)
          if (complaint && !isEmpty(complaint)) return complaint.result
        }
        if (answer.kind === 'failed') return answer.result
        isStopped ||= answer.isTruncated
        for (const commit of parseCommits(answer.output)) found.set(commit.hash, commit)
      }
      const commits = [...found.values()].toSorted((one, other) => Date.parse(other.date) - Date.parse(one.date))
      return {
        output: {
          commits: commits.slice(0, max_results),
          total_found: commits.length,
          truncated: isStopped || commits.length > max_results,
          query,
          mode,
        },
      }
    },
  })

/** A repository without commits has no history; that is an answer, not a failure. */
const isEmpty = ({ result }: GitFailed): boolean => JSON.stringify(result).includes('does not have any commits yet')

function filtersOf(query: string, mode: 'message' | 'pickaxe' | 'both'): readonly (readonly string[])[] {
  const message = ['--fixed-strings', '--regexp-ignore-case', `--grep=${query}`]
  const pickaxe = [`-S${query}`]
  return mode === 'message' ? [message] : mode === 'pickaxe' ? [pickaxe] : [message, pickaxe]
}

/** `git_file_history`. */
export const createFileHistoryTool = (sandbox: Sandbox) =>
  defineTool({
    ...GIT_TOOL,
    name: 'git_file_history',
    description:
      'List the commits that changed a file, newest first, across renames (follow), with their diffs on request.',
    parameters: Type.Object({
      path: GitPath,
      max_commits: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 20 })),
      follow: Type.Optional(Type.Boolean({ default: true })),
      show_diffs: Type.Optional(Type.Boolean({ default: false })),
      since: Type.Optional(Since),
    }),
    tier: 'deferred',
    tags: ['git', 'history', 'log', 'file'],
    subject: ({ path }) => ({ paths: [path] }),
    async execute({ path, max_commits = 20, follow = true, show_diffs = false, since }, context) {
      const git = await openGit(sandbox, context)
      const limits = [`--max-count=${max_commits + 1}`, ...sinceOption(since)]
      const options = [
        ...DIFF_OPTIONS,
        COMMIT_FORMAT,
        ...limits,
        ...(follow ? ['--follow'] : []),
        ...(show_diffs ? ['--patch'] : []),
      ]
      const answer = await git(['log', ...options, ...pathspec(path)], show_diffs ? MAX_DIFF_LOG_BYTES : MAX_LOG_BYTES)
      const complaint = complaintOf(answer)
      if (complaint && !isEmpty(complaint)) return complaint.result
      if (answer.kind === 'failed') return answer.result
      const commits = parseCommits(answer.output)
      return {
        output: {
          file: path,
          follow,
          commits: commits.slice(0, max_commits),
          total_commits: Math.min(commits.length, max_commits),
          truncated: answer.isTruncated || commits.length > max_commits,
        },
      }
    },
  })
