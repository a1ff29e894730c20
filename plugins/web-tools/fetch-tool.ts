import { Type } from '@sinclair/typebox'
import { defineTool } from '#contracts/tool/tool'
import type { Web } from '#contracts/web'
import type { WebToolsConfig } from './config.js'
import type { ConvertPage } from './convert-page.js'
import {
  contentTypeOf,
  DEFAULT_TIMEOUT_SECONDS,
  failure,
  isHtml,
  refused,
  refusedByPolicy,
  TimeoutParameter,
  textOf,
  UrlParameter,
} from './web-access.js'

const DEFAULT_BYTES = 131_072

const parameters = Type.Object({
  url: UrlParameter,
  format: Type.Optional(
    Type.Union([Type.Literal('text'), Type.Literal('markdown')], {
      default: 'text',
      description: 'text: the body as it came. markdown: an HTML page made readable.',
    }),
  ),
  timeout_seconds: TimeoutParameter,
  max_bytes: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_048_576, default: DEFAULT_BYTES, description: 'Most bytes to return.' }),
  ),
})

/** `fetch`: the body of an address as text. */
export const createFetchTool = (web: Web, config: WebToolsConfig, convertPage: ConvertPage) =>
  defineTool({
    name: 'fetch',
    description:
      'Fetch an http or https address and return its status, type and text. Addresses that are not on the public internet are refused.',
    parameters,
    action: 'fetch',
    isParallelSafe: true,
    tier: 'deferred',
    tags: ['web', 'http', 'url', 'network'],
    owner: 'web',
    condition: 'web client installed',
    subject: ({ url }) => ({ text: url }),
    async execute(
      { url, format = 'text', timeout_seconds = DEFAULT_TIMEOUT_SECONDS, max_bytes = DEFAULT_BYTES },
      context,
    ) {
      const denied = await refusedByPolicy(context)
      if (denied) return denied
      const isReadable = format === 'markdown'
      const request = { url, timeoutMs: timeout_seconds * 1000, maxBytes: isReadable ? config.page_bytes : max_bytes }
      const answer = await web.exchange(request, context.signal)
      if (answer.kind === 'refused') return refused(answer)
      const contentType = contentTypeOf(answer.headers)
      const text = textOf(answer.body, contentType)
      if (text === undefined)
        return failure(
          'not_text',
          `${answer.url} is ${contentType || 'binary'}, not text. Use download to get it as a file.`,
        )
      const told = { url: answer.url, status_code: answer.status, content_type: contentType }
      if (!isReadable || !isHtml(contentType))
        return { output: { ...told, ...cut(text, max_bytes, answer.isTruncated) } }
      const converted = await convertPage({ html: text, url: answer.url }, context.signal)
      if (converted.kind === 'failed')
        return failure('not_readable', `The page could not be converted: ${converted.why}. Use format text.`)
      return {
        output: { ...told, ...cut(converted.page.markdown, max_bytes, answer.isTruncated || converted.page.isCut) },
      }
    },
  })

/** At most `maxBytes` of a text, no character cut in two. */
export function cut(text: string, maxBytes: number, isShortened: boolean): { content: string; truncated: boolean } {
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return { content: text, truncated: isShortened }
  let end = maxBytes
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return { content: bytes.toString('utf8', 0, end), truncated: true }
}
