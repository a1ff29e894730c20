import { Worker } from 'node:worker_threads'
import { Turnstile } from './turnstile.js'

export interface PageSource {
  readonly html: string
  /** What relative links start from. */
  readonly url: string
}

export interface Page {
  readonly title: string
  readonly markdown: string
  /** The page was longer than what is converted. */
  readonly isCut: boolean
}

export type Conversion =
  | { readonly kind: 'page'; readonly page: Page }
  | { readonly kind: 'failed'; readonly why: string }

export type ConvertPage = (source: PageSource, signal: AbortSignal) => Promise<Conversion>

const MEMORY_MB = 512
/** A turn may ask for dozens of pages at once; a thread for each would take the machine. */
const AT_ONCE = 2

/** Converts pages a few at a time; the time limit counts from the moment a page's turn has come. */
export function createConverter(timeoutMs: number): ConvertPage {
  const turnstile = new Turnstile(AT_ONCE)
  return (source, signal) => turnstile.run(() => convertPage(source, timeoutMs, signal), signal)
}

/**
 * Turns a page into Markdown on a thread of its own, with a time and a memory limit: pages are hostile, parsers are
 * not quick, and the daemon must not stand still for either.
 */
async function convertPage(source: PageSource, timeoutMs: number, signal: AbortSignal): Promise<Conversion> {
  signal.throwIfAborted()
  const worker = new Worker(new URL('./page-worker.js', import.meta.url), {
    workerData: source,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB, stackSizeMb: 4 },
    env: {},
    stdout: true,
    stderr: true,
  })
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  try {
    return await new Promise<Conversion>(resolve => {
      const failed = (why: string) => resolve({ kind: 'failed', why })
      limit.addEventListener('abort', () => failed(`it took longer than ${timeoutMs / 1000} s`), { once: true })
      worker.once('message', ({ page, problem }: { page?: Page; problem?: string }) =>
        page ? resolve({ kind: 'page', page }) : failed(`its HTML is broken (${problem})`),
      )
      worker.once('error', () => failed('it is too large or too deeply nested'))
      worker.once('exit', () => failed('it is too large or too deeply nested'))
    })
  } finally {
    await worker.terminate()
    signal.throwIfAborted()
  }
}
