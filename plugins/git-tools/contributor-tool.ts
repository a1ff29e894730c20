import { Type } from '@sinclair/typebox'
import type { Sandbox } from '#contracts/sandbox'
import { defineTool } from '#contracts/tool/tool'
import { COMMIT_FORMAT, type Commit, parseCommits } from './commits.js'
import { complaintOf } from './complaint.js'
import { GIT_TOOL, GitPath, pathspec, Since, sinceOption } from './git-arguments.js'
import { openGit } from './run-git.js'

const MAX_COMMITS = 10_000
const MAX_BYTES = 4 * 1024 * 1024

/** `git_contributor_context`. */
export const createContributorTool = (sandbox: Sandbox) =>
  defineTool({
    ...GIT_TOOL,
    name: 'git_contributor_context',
    description: `Show who committed most, to a path or at all: commits, first and last date (of the newest ${MAX_COMMITS} commits).`,
    parameters: Type.Object({
      path: Type.Optional(GitPath),
      max_authors: Type.Optional(Type.Integer({ minimum: 1, maximum: 20, default: 10 })),
      since: Type.Optional(Since),
    }),
    tier: 'deferred',
    tags: ['git', 'authors', 'contributors', 'history'],
    subject: ({ path }) => (path === undefined ? {} : { paths: [path] }),
    async execute({ path, max_authors = 10, since }, context) {
      const git = await openGit(sandbox, context)
      const args = ['log', `--max-count=${MAX_COMMITS}`, COMMIT_FORMAT, ...sinceOption(since), ...pathspec(path)]
      const answer = await git(args, MAX_BYTES)
      const complaint = complaintOf(answer)
      if (complaint) return complaint.result
      if (answer.kind === 'failed') return answer.result
      const authors = authorsOf(parseCommits(answer.output)).slice(0, max_authors)
      return { output: { path: path ?? '', authors, ...(answer.isTruncated && { truncated: true }) } }
    },
  })

interface Author {
  readonly name: string
  readonly email: string
  readonly commits: number
  readonly first_commit: string
  readonly last_commit: string
}

/** Most commits first. */
function authorsOf(commits: readonly Commit[]): readonly Author[] {
  const authors = new Map<string, Author>()
  for (const { author, email, date } of commits) {
    const known = authors.get(email.toLowerCase())
    authors.set(email.toLowerCase(), {
      name: known?.name ?? author,
      email: known?.email ?? email,
      commits: (known?.commits ?? 0) + 1,
      first_commit: date,
      last_commit: known?.last_commit ?? date,
    })
  }
  return [...authors.values()].toSorted((one, other) => other.commits - one.commits)
}
