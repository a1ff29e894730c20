import type { ToolDefinition } from '#contracts/tool/tool'

/** Shorter ones mean something only as a whole name or tag: parts of them are everywhere. */
const MIN_PART_CHARS = 3
const EMPTY_WORDS: ReadonlySet<string> = new Set(
  'a an and any are at can do for from get have how i in is it me my need of on or some that the this to tool tools use want what with you'.split(
    ' ',
  ),
)

/** Words of a query that mean something, each once. */
export const termsOf = (query: string): readonly string[] => [
  ...new Set(
    query
      .toLowerCase()
      .split(/[^\p{L}\p{N}_-]+/u)
      .filter(term => term !== '' && !EMPTY_WORDS.has(term)),
  ),
]

/** How well a tool fits: per word 10 for its name, 5 for a part of it, 8 for a tag, 3 for a part of one, 1 for the description. */
export function scoreOf({ name, tags = [], description }: ToolDefinition, terms: readonly string[]): number {
  const [title, text] = [name.toLowerCase(), description.toLowerCase()]
  const labels = tags.map(tag => tag.toLowerCase())
  const ofTerm = (term: string): number => {
    const isIn = (whole: string): boolean => term.length >= MIN_PART_CHARS && whole.includes(term)
    return (
      (title === term ? 10 : isIn(title) ? 5 : 0) +
      (labels.includes(term) ? 8 : labels.some(isIn) ? 3 : 0) +
      (isIn(text) ? 1 : 0)
    )
  }
  return terms.reduce((sum, term) => sum + ofTerm(term), 0)
}
