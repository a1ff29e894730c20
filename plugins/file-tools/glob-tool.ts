import { Type } from '@sinclair/typebox'
import { defineTool } from '#contracts/tool/tool'
import type { WorkspaceFiles } from '#contracts/workspace-files'
import type { FileToolsConfig } from './config.js'
import { createPause, startDeadline } from './deadline.js'
import { parseGlob } from './glob-pattern.js'
import { MAX_LISTED_CHARS } from './ls-tool.js'
import { failure, refused } from './tool-error.js'

const parameters = Type.Object({
  pattern: Type.String({
    minLength: 1,
    maxLength: 1000,
    description: 'For example "src/**/*.{ts,tsx}". Relative to the workspace root, or absolute beneath it.',
  }),
  max_matches: Type.Optional(Type.Integer({ minimum: 1, maximum: 2000, default: 500 })),
})

/** `glob`: files by name pattern, sorted. */
export const createGlobTool = (files: WorkspaceFiles, config: FileToolsConfig) =>
  defineTool({
    name: 'glob',
    description: `Find files by name. "*" and "?" match within a name, "**" any folders, "{a,b}" alternatives. Use "**/name" to look everywhere. Names starting with a dot must be written out; ${config.skipped_folders.join(', ')} are skipped unless the pattern names them.`,
    parameters,
    action: 'list',
    tags: ['file', 'search'],
    subject: ({ pattern }) => ({ paths: [pattern] }),
    async execute({ pattern, max_matches = 500 }, context) {
      const access = await context.sandboxPolicy()
      const start = [access.root, ...access.extraDirs].find(root => pattern.startsWith(`${root}/`)) ?? ''
      if (start === '' && pattern.startsWith('/'))
        return failure('outside_workspace', 'The pattern leads outside the workspace. Start it at the workspace root.')
      const glob = parseGlob(pattern.slice(start.length))
      if (typeof glob === 'string') return failure('invalid_pattern', glob)
      const base = [start, glob.base].filter(part => part !== '').join('/') || '.'
      const prefix = glob.base === '' ? '' : `${glob.base}/`
      const skipped = new Set(config.skipped_folders.filter(folder => !glob.names(folder)))
      const mayEnter = (relative: string) => {
        const name = relative.slice(relative.lastIndexOf('/') + 1)
        return !skipped.has(name) && (glob.mayBeHidden || !name.startsWith('.'))
      }
      const deadline = startDeadline(config.search_timeout_ms, context.signal)
      const matches: string[] = []
      let isTruncated = false
      let chars = 0
      const pause = createPause()
      try {
        for await (const entry of files.walk(access, base, { depth: glob.depth, mayEnter }, deadline.signal)) {
          await pause()
          if ('relative' in entry) {
            if (entry.kind === 'directory' || !glob.matches(prefix + entry.relative)) continue
            chars += entry.path.length + 3
            isTruncated = matches.length >= max_matches || chars > MAX_LISTED_CHARS
            if (isTruncated) break
            matches.push(entry.path)
          } else if (entry.kind === 'cut') isTruncated = true
          else if (entry.code !== 'not_found' && entry.code !== 'not_a_directory' && matches.length === 0)
            return refused(entry)
        }
      } catch (error) {
        if (!deadline.isOver()) throw error
        isTruncated = true
      } finally {
        deadline.end()
      }
      return { output: { pattern, matches, truncated: isTruncated } }
    },
  })
