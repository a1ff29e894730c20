import { Type } from '@sinclair/typebox'
import { defineTool } from '#contracts/tool/tool'
import type { DirectoryEntry, WorkspaceFiles } from '#contracts/workspace-files'
import { PATH_ALIASES, PathParameter, renamed } from './arguments.js'
import type { FileToolsConfig } from './config.js'
import { createPause, startDeadline } from './deadline.js'
import { refused } from './tool-error.js'

const MAX_DEPTH = 50
/** More than this a model does not read; it looks again, further down. */
export const MAX_LISTED_CHARS = 60_000

const parameters = Type.Object({
  path: Type.Optional(PathParameter),
  recursive: Type.Optional(Type.Boolean({ description: 'Also list what is in the folders below.' })),
  depth: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_DEPTH,
      description: 'Levels below path; 0 lists path only. A depth above 0 implies recursive.',
    }),
  ),
  include_hidden: Type.Optional(Type.Boolean({ description: 'Also list names that start with a dot.' })),
  max_entries: Type.Optional(Type.Integer({ minimum: 1, maximum: 2000, default: 200 })),
})

/** `ls`: names below a folder, sorted. */
export const createLsTool = (files: WorkspaceFiles, config: FileToolsConfig) =>
  defineTool({
    name: 'ls',
    description: `List a folder (default: the workspace root). Folders end in "/", links in "@". Recursive listing does not enter ${config.skipped_folders.join(', ')}.`,
    parameters,
    action: 'list',
    tags: ['file'],
    normalise: args => renamed(args, { ...PATH_ALIASES, directory: 'path' }),
    subject: ({ path = '.' }) => ({ paths: [path] }),
    async execute({ path = '.', recursive, depth, include_hidden = false, max_entries = 200 }, context) {
      const access = await context.sandboxPolicy()
      const levels = recursive === false ? 0 : (depth ?? (recursive ? MAX_DEPTH : 0))
      const skipped = new Set(config.skipped_folders)
      const mayEnter = (relative: string) => {
        const name = nameOf(relative)
        return !skipped.has(name) && (include_hidden || !name.startsWith('.'))
      }
      const deadline = startDeadline(config.search_timeout_ms, context.signal)
      const entries: string[] = []
      let isTruncated = false
      let chars = 0
      const pause = createPause()
      try {
        for await (const entry of files.walk(access, path, { depth: levels, mayEnter }, deadline.signal)) {
          await pause()
          if ('relative' in entry) {
            if (!include_hidden && nameOf(entry.relative).startsWith('.')) continue
            chars += entry.relative.length + 3
            isTruncated = entries.length >= max_entries || chars > MAX_LISTED_CHARS
            if (isTruncated) break
            entries.push(marked(entry))
          } else if (entry.kind === 'cut') isTruncated = true
          else if (entries.length === 0) return refused(entry)
        }
      } catch (error) {
        if (!deadline.isOver()) throw error
        isTruncated = true
      } finally {
        deadline.end()
      }
      return { output: { path, entries, truncated: isTruncated } }
    },
  })

const nameOf = (relative: string): string => relative.slice(relative.lastIndexOf('/') + 1)

const MARKS = { directory: '/', link: '@', file: '', other: '' } as const

const marked = ({ relative, kind }: DirectoryEntry): string => relative + MARKS[kind]
