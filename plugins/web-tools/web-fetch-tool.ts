import { Type } from '@sinclair/typebox'
import { defineTool } from '#contracts/tool/tool'
import type { Web } from '#contracts/web'
import type { WebToolsConfig } from './config.js'
import type { ConvertPage } from './convert-page.js'
import { cut } from './fetch-tool.js'
import {
  contentTypeOf,
  DEFAULT_TIMEOUT_SECONDS,
  failure,
  isHtml,
  refused,
  refusedByPolicy,
  textOf,
  UrlParameter,
} from './web-access.js'

const MAX_CONTENT_BYTES = 131_072

/** `web_fetch`: a page as Markdown, without its menus. */
export const createWebFetchTool = (web: Web, config: WebToolsConfig, convertPage: ConvertPage) =>
  defineTool({
    name: 'web_fetch',
    description:
      'Read a web page: returns its title and its text as Markdown, links made absolute. For JSON or plain text use fetch.',
    parameters: Type.Object({ url: UrlParameter }),
    action: 'fetch',
    isParallelSafe: true,
    tier: 'deferred',
    tags: ['web', 'http', 'url', 'page', 'markdown', 'network'],
    owner: 'web',
    condition: 'web client installed',
    subject: ({ url }) => ({ text: url }),
    async execute({ url }, context) {
      const denied = await refusedByPolicy(context)
      if (denied) return denied
      const request = {
        url,
        timeoutMs: DEFAULT_TIMEOUT_SECONDS * 1000,
        maxBytes: config.page_bytes,
        headers: { accept: 'text/html,application/xhtml+xml,text/plain;q=0.8,*/*;q=0.5' },
      }
      const answer = await web.exchange(request, context.signal)
      if (answer.kind === 'refused') return refused(answer)
      const contentType = contentTypeOf(answer.headers)
      const text = textOf(answer.body, contentType)
      if (text === undefined)
        return failure(
          'not_text',
          `${answer.url} is ${contentType || 'binary'}, not a page. Use download to get it as a file.`,
        )
      const told = { url: answer.url, status_code: answer.status, content_type: contentType }
      if (!isHtml(contentType) && !/^\s*<(!doctype|html)/i.test(text))
        return { output: { ...told, title: '', ...cut(text, MAX_CONTENT_BYTES, answer.isTruncated) } }
      const converted = await convertPage({ html: text, url: answer.url }, context.signal)
      if (converted.kind === 'failed')
        return failure(
          'not_readable',
          `The page could not be converted: ${converted.why}. Use fetch to get it as it is.`,
        )
      const { title, markdown, isCut } = converted.page
      return { output: { ...told, title, ...cut(markdown, MAX_CONTENT_BYTES, answer.isTruncated || isCut) } }
    },
  })
