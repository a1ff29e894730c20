import { parentPort, workerData } from 'node:worker_threads'
import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'
import TurndownService from 'turndown'
import type { Page, PageSource } from './convert-page.js'

const NOISE = 'script,style,noscript,template,iframe,object,embed,svg,canvas,link,meta,form,nav,footer'

/** Turns one HTML page into Markdown: its article where it has one, else all of it. */
function convert({ html, url }: PageSource): Page {
  // A fragment has no body of its own, and the parser takes its first element for the document.
  const { document } = parseHTML(/<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`)
  const title = document.title?.trim() ?? ''
  resolveLinks(document, url)
  const article = new Readability(document.cloneNode(true) as never, { maxElemsToParse: 50_000 }).parse()
  for (const element of [...document.querySelectorAll(NOISE)]) element.remove()
  const whole = document.body?.innerHTML || document.toString()
  const turndown = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' })
  const markdownOf = (part: string) =>
    turndown.turndown(parseHTML(`<html><body>${part}</body></html>`).document.body as never)
  const readable = article?.content ? markdownOf(article.content) : ''
  const markdown = readable.length >= 200 ? readable : markdownOf(whole)
  return { title: article?.title?.trim() || title, markdown: markdown.replaceAll(/\n{3,}/g, '\n\n').trim() }
}

/** Relative links mean nothing to whoever reads the Markdown; data: and script links are left out. */
function resolveLinks(document: ReturnType<typeof parseHTML>['document'], url: string): void {
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
