import { createFinder } from '#contracts/find-text'
import type { Glob } from './glob.js'

/** A pattern in which `*` stands for anything, also nothing; every other character is itself. Linear in the text. */
export function textGlob(pattern: string): Glob {
  const pieces = pattern.split('*')
  const [first = ''] = pieces
  const last = pieces.at(-1) ?? ''
  const inner = pieces.slice(1, -1).map(piece => ({ length: piece.length, find: createFinder(piece) }))
  const literals = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const matches = (text: string): boolean => {
    if (pieces.length === 1) return text === first
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
    const end = text.length - last.length
    let from = first.length
    for (const piece of inner) {
      const at = piece.find(text, from)
      if (at < 0 || at + piece.length > end) return false
      from = at + piece.length
    }
    return from <= end
  }
  return { literals, hasWildcard: pieces.length > 1, matches }
}
