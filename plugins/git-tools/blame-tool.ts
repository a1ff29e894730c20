import { Type } from '@sinclair/typebox'
import type { Sandbox } from '#contracts/sandbox'
import { defineTool, type ToolResult } from '#contracts/tool/tool'
import { complaintOf } from './complaint.js'
import { GIT_TOOL, GitPath, pathspec, Revision, wrongRevision } from './git-arguments.js'
import { openGit } from './run-git.js'

const MAX_LINES = 500
const MAX_BYTES = 2 * 1024 * 1024
const MAX_CONTENT_CHARS = 1000
const MAX_SHOWN_CHARS = 64 * 1024

/** `git_blame_context`. */
export const createBlameTool = (sandbox: Sandbox) =>
  defineTool({
    ...GIT_TOOL,
    name: 'git_blame_context',
    description: `Show for lines of a file which commit wrote each, at most ${MAX_LINES} of them; when truncated, go on at next_line.`,
    parameters: Type.Object({
      path: GitPath,
      start_line: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000_000, default: 1 })),
      end_line: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000_000 })),
      rev: Type.Optional(Revision('As the file was in this revision. Default: the working tree.')),
    }),
    tier: 'deferred',
    tags: ['git', 'blame', 'history', 'author'],
    subject: ({ path }) => ({ paths: [path] }),
    async execute({ path, start_line = 1, end_line, rev }, context): Promise<ToolResult> {
      if (end_line !== undefined && end_line < start_line)
        return { error: { code: 'invalid_range', message: 'end_line must not be smaller than start_line.' } }
      const wrong = wrongRevision(rev)
      if (wrong) return wrong
      const git = await openGit(sandbox, context)
      const last = Math.min(end_line ?? Number.POSITIVE_INFINITY, start_line + MAX_LINES - 1)
      const range = `-L${start_line},+${last - start_line + 1}`
      const args = [
        'blame',
        '--line-porcelain',
        '--no-textconv',
        range,
        ...(rev === undefined ? [] : [rev]),
        ...pathspec(path),
      ]
      const answer = await git(args, MAX_BYTES)
      const complaint = complaintOf(answer)
      if (complaint) return complaint.result
      if (answer.kind === 'failed') return answer.result
      const blamed = parseBlame(answer.output)
      const lines = withinBudget(blamed)
      const isCut =
        answer.isTruncated ||
        lines.length < blamed.length ||
        (lines.length === MAX_LINES && (end_line ?? Number.POSITIVE_INFINITY) > last)
      return {
        output: {
          file: path,
          rev: rev ?? '',
          lines,
          unique_commits: new Set(lines.map(({ hash }) => hash).filter(hash => !UNCOMMITTED.test(hash))).size,
          ...(isCut && { truncated: true, next_line: (lines.at(-1)?.line ?? start_line) + 1 }),
        },
      }
    },
  })

interface BlamedLine {
  readonly line: number
  readonly hash: string
  readonly author: string
  readonly date: string
  readonly summary: string
  readonly content: string
}

/** Git's name for what is in no commit yet. */
const UNCOMMITTED = /^0+$/

/** As many lines as a model may want to read at once. */
function withinBudget(lines: readonly BlamedLine[]): readonly BlamedLine[] {
  let left = MAX_SHOWN_CHARS
  const end = lines.findIndex(line => {
    left -= JSON.stringify(line).length
    return left < 0
  })
  return end < 0 ? lines : lines.slice(0, Math.max(end, 1))
}

const HEADER = /^([0-9a-f]{40,64}) \d+ (\d+)/

/** Reads `git blame --line-porcelain`: a header line, facts, and the line itself behind a tab. */
export function parseBlame(output: string): readonly BlamedLine[] {
  const lines: BlamedLine[] = []
  let [hash, line]: [string, number] = ['', 0]
  let facts = new Map<string, string>()
  for (const text of output.split('\n')) {
    if (text.startsWith('\t')) {
      lines.push({
        line,
        hash,
        author: (facts.get('author') ?? '').slice(0, 200),
        date: dateOf(facts.get('author-time')),
        summary: (facts.get('summary') ?? '').slice(0, 200),
        content: text.slice(1, 1 + MAX_CONTENT_CHARS),
      })
      facts = new Map()
      continue
    }
    const [, commit, number] = facts.size === 0 ? (HEADER.exec(text) ?? []) : []
    if (commit !== undefined) {
      hash = commit
      line = Number(number)
      facts.set('', '')
    } else {
      const at = text.indexOf(' ')
      facts.set(at < 0 ? text : text.slice(0, at), at < 0 ? '' : text.slice(at + 1))
    }
  }
  return lines
}

function dateOf(seconds: string | undefined): string {
  const date = new Date(Number(seconds ?? 0) * 1000)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}
