import { Type } from '@sinclair/typebox'
import { defineTool } from '#contracts/tool/tool'
import type { FileContent, WorkspaceFiles } from '#contracts/workspace-files'
import { ExpectedVersion, PATH_ALIASES, PathParameter, renamed } from './arguments.js'
import { describeChange } from './change-diff.js'
import { changeFile } from './change-file.js'
import { MAX_EDITED_BYTES } from './file-text.js'
import { isFailed } from './tool-error.js'

const parameters = Type.Object({
  path: PathParameter,
  content: Type.String({ maxLength: MAX_EDITED_BYTES, description: 'The whole new content, or what to append.' }),
  append: Type.Optional(Type.Boolean({ description: 'Add content to the end instead of replacing the file.' })),
  expected_version: ExpectedVersion,
})

/** `write`: creates, replaces or appends to a file. */
export const createWriteTool = (files: WorkspaceFiles) =>
  defineTool({
    name: 'write',
    description:
      'Create a file or replace its whole content; missing folders are made. Use edit or apply_patch for small changes to an existing file.',
    parameters,
    action: 'write',
    tags: ['file'],
    normalise: args => renamed(args, { ...PATH_ALIASES, new_text: 'content', new_string: 'content', text: 'content' }),
    subject: ({ path }) => ({ paths: [path] }),
    async execute({ path, content, append = false, expected_version }, context) {
      const addition = Buffer.from(content)
      const changed = await changeFile(files, await context.sandboxPolicy(), path, expected_version, before => ({
        bytes: append && before ? Buffer.concat([before.bytes, addition]) : addition,
      }))
      if (isFailed(changed)) return changed
      const { before, bytes } = changed
      return {
        output: {
          path: changed.path,
          bytes_written: addition.length,
          appended: append,
          version: changed.version,
          diff: describeChange(changed.path, looseText(before), Buffer.from(bytes).toString()),
          before_bytes: before?.bytes.length ?? 0,
          after_bytes: bytes.length,
          changed: before?.version !== changed.version,
        },
      }
    },
  })

/** For showing only. */
const looseText = (file: FileContent | undefined): string => (file ? Buffer.from(file.bytes).toString() : '')
