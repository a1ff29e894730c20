import { createHash } from 'node:crypto'
import type { MessagesBlock, MessagesBody } from './messages-rules.js'

/** What a request took out of the cache and put into it; in characters of JSON, four of which count as a token. */
export interface CacheUse {
  readonly read: number
  readonly written: number
  readonly plain: number
}

/** How many blocks before a mark the vendor looks for what was cached earlier. */
const LOOK_BACK = 20
const CHARS_PER_TOKEN = 4

/**
 * The vendor's prompt cache, as documented: a mark caches all that comes before it, tools first, then system, then messages;
 * what is found again has to be the same to the letter, and to end at a mark or up to 20 blocks before one.
 */
export class PromptCache {
  private readonly entries = new Set<string>()

  use(body: MessagesBody): CacheUse {
    const blocks = orderedBlocks(body)
    const ends: { readonly key: string; readonly tokens: number; readonly isMarked: boolean }[] = []
    const hash = createHash('sha256')
    let chars = 0
    for (const { place, block } of blocks) {
      const { cache_control, ...rest } = block
      const text = JSON.stringify([place, rest])
      chars += text.length
      hash.update(text)
      const tokens = Math.ceil(chars / CHARS_PER_TOKEN)
      ends.push({ key: hash.copy().digest('hex'), tokens, isMarked: cache_control !== undefined })
    }
    let read = 0
    let last = 0
    for (const [index, { isMarked, tokens }] of ends.entries()) {
      if (!isMarked) continue
      last = tokens
      const near = ends.slice(Math.max(0, index - LOOK_BACK), index + 1)
      read = Math.max(read, ...near.filter(({ key }) => this.entries.has(key)).map(end => end.tokens))
    }
    for (const { isMarked, key } of ends) if (isMarked) this.entries.add(key)
    const total = Math.ceil(chars / CHARS_PER_TOKEN)
    return { read, written: last - read, plain: total - last }
  }
}

function orderedBlocks({ tools = [], system = [], messages }: MessagesBody) {
  const placed = (place: string, blocks: readonly MessagesBlock[]) => blocks.map(block => ({ place, block }))
  return [
    ...placed('tool', tools),
    ...placed('system', system),
    ...messages.flatMap(({ role, content }, index) => placed(`${index} ${role}`, content)),
  ]
}
