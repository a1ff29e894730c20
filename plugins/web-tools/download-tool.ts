import { Type } from '@sinclair/typebox'
import { defineTool } from '#contracts/tool/tool'
import type { Web } from '#contracts/web'
import type { WorkspaceFiles } from '#contracts/workspace-files'
import {
  contentTypeOf,
  DEFAULT_TIMEOUT_SECONDS,
  failure,
  refused,
  refusedByPolicy,
  TimeoutParameter,
  UrlParameter,
} from './web-access.js'

const MAX_BYTES = 50 * 1024 * 1024

const parameters = Type.Object({
  url: UrlParameter,
  file_path: Type.String({
    minLength: 1,
    maxLength: 4096,
    description: 'Where to put it, relative to the workspace root.',
  }),
  timeout_seconds: TimeoutParameter,
  max_bytes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_BYTES,
      default: MAX_BYTES,
      description: 'What is longer is cut, and said so.',
    }),
  ),
})

/** `download`: the bytes of an address as a file of the workspace. */
export const createDownloadTool = (web: Web, files: WorkspaceFiles) =>
  defineTool({
    name: 'download',
    description:
      'Download an http or https address into a file of the workspace, replacing it. Nothing is written unless the answer is a success. Addresses that are not on the public internet are refused.',
    parameters,
    action: 'download',
    tags: ['web', 'http', 'url', 'file', 'network'],
    owner: 'web',
    condition: 'web client installed',
    normalise: ({ path, ...args }) => (path === undefined ? args : { file_path: path, ...args }),
    subject: ({ url, file_path }) => ({ paths: [file_path], text: url }),
    async execute({ url, file_path, timeout_seconds = DEFAULT_TIMEOUT_SECONDS, max_bytes = MAX_BYTES }, context) {
      const denied = await refusedByPolicy(context)
      if (denied) return denied
      const access = await context.sandboxPolicy()
      const place = await files.resolve(access, file_path, 'write')
      if (place.kind === 'refused') return failure(place.code, place.message)
      const answer = await web.exchange({ url, timeoutMs: timeout_seconds * 1000, maxBytes: max_bytes }, context.signal)
      if (answer.kind === 'refused') return refused(answer)
      if (answer.status < 200 || answer.status > 299)
        return failure('http_status', `${answer.url} answered ${answer.status}; nothing was written.`)
      const written = await files.replace(access, file_path, answer.body)
      if (written.kind === 'refused') return failure(written.code, written.message)
      return {
        output: {
          url: answer.url,
          file_path: written.path,
          bytes_written: answer.body.length,
          status_code: answer.status,
          content_type: contentTypeOf(answer.headers),
          truncated: answer.isTruncated,
          version: written.version,
        },
      }
    },
  })
