import { parentPort, workerData } from 'node:worker_threads'
import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'
import TurndownService from 'turndown'
import type { Page, PageSource } from './convert-page.js'

/** Never text of the page, whatever it is about. */
const CODE = 'script,style,noscript,template,iframe,object,embed,svg,canvas,link,meta,title'
/** Around the text of a page that is no article. A form is not among them: whole sites stand in one. */
const FRAME = 'nav,footer,input,button,select,textarea'
/** Finding the article takes seconds above this. */
const MAX_ARTICLE_ELEMENTS = 20_000
/** Several times what a tool returns; more is not written out as Markdown. */
const MAX_PART_CHARS = 600_000
/** A shorter article is a wrong guess. */
const MIN_ARTICLE_CHARS = 200

type PageDocument = ReturnType<typeof parseHTML>['document']

/** Turns one HTML page into Markdown: its article where it has one, else all of it. */
function convert({ html, url }: PageSource): Page {
  const document = documentOf(html, url)
  const title = (document.title || document.querySelector('title')?.textContent || '').trim()
  for (const element of [...document.querySelectorAll(CODE)]) element.remove()
  const isSmall = document.querySelectorAll('*').length <= MAX_ARTICLE_ELEMENTS
  const article = isSmall ? new Readability(document as never).parse() : undefined
  const readable = article?.content ? markdownOf(article.content) : undefined
  if (readable && readable.markdown.length >= MIN_ARTICLE_CHARS)
    return { title: article?.title?.trim() || title, ...readable }
  // Looking for the article took the page apart.
  const whole = article === undefined ? document : documentOf(html, url)
  for (const element of [...whole.querySelectorAll(`${CODE},${FRAME}`)]) element.remove()
  return { title, ...markdownOf(whole.body?.innerHTML || whole.toString()) }
}

function documentOf(html: string, url: string): PageDocument {
  // A fragment has no body of its own, and the parser takes its first element for the document.
  const { document } = parseHTML(/<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`)
  resolveLinks(document, url)
  return document
}

function markdownOf(html: string): Pick<Page, 'markdown' | 'isCut'> {
  const { document } = parseHTML(`<html><body>${html.slice(0, MAX_PART_CHARS)}</body></html>`)
  const turndown = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' })
  const markdown = turndown
    .turndown(document.body as never)
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
  return { markdown, isCut: html.length > MAX_PART_CHARS }
}

/** Relative links mean nothing to whoever reads the Markdown; data: and script links are left out. */
function resolveLinks(document: PageDocument, url: string): void {
  for (const [selector, attribute] of [
    ['a[href]', 'href'],
    ['img[src]', 'src'],
  ] as const)
    for (const element of document.querySelectorAll(selector)) {
      const given = element.getAttribute(attribute) ?? ''
      const link = URL.canParse(given, url) ? new URL(given, url) : undefined
      if (link && /^(https?|mailto):$/.test(link.protocol)) element.setAttribute(attribute, link.href)
      else element.removeAttribute(attribute)
    }
}

try {
  parentPort?.postMessage({ page: convert(workerData as PageSource) })
} catch (error) {
  parentPort?.postMessage({ problem: error instanceof Error ? error.name : 'unknown' })
}
