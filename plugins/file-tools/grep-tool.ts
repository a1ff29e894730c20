import { Type } from '@sinclair/typebox'
import { defineTool } from '#contracts/tool/tool'
import type { FileAccess, WorkspaceFiles } from '#contracts/workspace-files'
import { PATH_ALIASES, PathParameter, renamed } from './arguments.js'
import type { FileToolsConfig } from './config.js'
import { startDeadline } from './deadline.js'
import { type SearchHit, searchFiles } from './ripgrep.js'
import { failure, refused } from './tool-error.js'

const parameters = Type.Object({
  query: Type.String({
    minLength: 1,
    maxLength: 4096,
    description: 'Text to find in lines; a regular expression if regex is set.',
  }),
  path: Type.Optional(PathParameter),
  regex: Type.Optional(
    Type.Boolean({ description: 'Read query as a regular expression (Rust syntax, no look-around).' }),
  ),
  case_sensitive: Type.Optional(Type.Boolean({ description: 'Default: upper and lower case are the same.' })),
  literal_text: Type.Optional(Type.Boolean({ description: 'Read query as plain text even if regex is set.' })),
  max_matches: Type.Optional(Type.Integer({ minimum: 1, maximum: 2000, default: 200 })),
})

/** `grep`: lines of files that hold a text. */
export const createGrepTool = (files: WorkspaceFiles, config: FileToolsConfig) =>
  defineTool({
    name: 'grep',
    description: `Search the lines of all files below path (default: the workspace root), or of one file. query is plain text unless regex is true. Files named in .gitignore, binary files, files above 50 MB and ${config.skipped_folders.join(', ')} are left out unless path names them.`,
    parameters,
    action: 'read',
    tags: ['file', 'search'],
    normalise: args => renamed(args, { ...PATH_ALIASES, pattern: 'query' }),
    subject: ({ path = '.', query }) => ({ paths: [path], text: query }),
    async execute(
      { query, path = '.', regex = false, case_sensitive = false, literal_text = false, max_matches = 200 },
      context,
    ) {
      if (/[\0\n\r]/.test(query))
        return failure(
          'invalid_query',
          'The query holds a line end or NUL. grep looks at one line at a time; search for a part of it.',
        )
      const access = await context.sandboxPolicy()
      const held = await files.hold(access, path)
      if (held.kind === 'refused') return refused(held)
      const deadline = startDeadline(config.search_timeout_ms, context.signal)
      try {
        const outcome = await searchFiles(
          {
            query,
            isRegex: regex && !literal_text,
            isCaseSensitive: case_sensitive,
            maxMatches: max_matches,
            skippedFolders: config.skipped_folders,
            directory: held.descriptorPath,
            fileName: held.fileName,
          },
          deadline.signal,
        )
        context.signal.throwIfAborted()
        if (outcome.kind === 'bad_query')
          return failure(
            'invalid_query',
            `The query is not a valid regular expression: ${outcome.message}. Set literal_text to search for it as plain text.`,
            {
              ...(outcome.position !== undefined && { position: outcome.position }),
            },
          )
        if (outcome.kind === 'failed') return failure('search_failed', outcome.message)
        const matches = await confirm(files, access, held.path, outcome.hits, context.signal)
        return { output: { query, matches, truncated: outcome.isTruncated } }
      } finally {
        deadline.end()
        held.close()
      }
    },
  })

interface Match {
  readonly path: string
  readonly line_number: number
  readonly line: string
}

/**
 * ripgrep opens files by name, so a name that is swapped for a link meanwhile can lead it outside. Therefore every line
 * shown is read again through the workspace, and what is not there word for word is left out.
 */
async function confirm(
  files: WorkspaceFiles,
  access: FileAccess,
  folder: string,
  hits: readonly SearchHit[],
  signal: AbortSignal,
): Promise<readonly Match[]> {
  const matches: Match[] = []
  for (let at = 0; at < hits.length; ) {
    signal.throwIfAborted()
    const path = hits[at]?.path ?? ''
    const end = hits.findIndex((hit, index) => index > at && hit.path !== path)
    const group = hits.slice(at, end === -1 ? hits.length : end)
    at += group.length
    const file = await files.open(access, folder === '' ? path : `${folder}/${path}`)
    if (file.kind === 'refused') continue
    try {
      for (const { offset, shown, lineNumber, isCutBefore, isCutAfter } of group) {
        const there = await file.read(offset, shown.length)
        if (Buffer.compare(there, shown) !== 0) continue
        const line = shown.toString().replace(/\r?\n$/, '')
        const marked = `${isCutBefore ? '...' : ''}${line}${isCutAfter ? '...' : ''}`
        matches.push({ path: file.path, line_number: lineNumber, line: marked })
      }
    } finally {
      file.close()
    }
  }
  return matches
}
