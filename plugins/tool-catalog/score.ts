import type { ToolDefinition } from '#contracts/tool/tool'

/** Words of a query, each once. */
export const termsOf = (query: string): readonly string[] => [
  ...new Set(
    query
      .toLowerCase()
      .split(/[^\p{L}\p{N}_-]+/u)
      .filter(term => term !== ''),
  ),
]

/** How well a tool fits: per word 10 for its name, 5 for a part of it, 8 for a tag, 3 for a part of one, 1 for the description. */
export function scoreOf({ name, tags = [], description }: ToolDefinition, terms: readonly string[]): number {
  const [title, text] = [name.toLowerCase(), description.toLowerCase()]
  const labels = tags.map(tag => tag.toLowerCase())
  const ofTerm = (term: string): number =>
    (title === term ? 10 : title.includes(term) ? 5 : 0) +
    (labels.includes(term) ? 8 : labels.some(label => label.includes(term)) ? 3 : 0) +
    (text.includes(term) ? 1 : 0)
  return terms.reduce((sum, term) => sum + ofTerm(term), 0)
}
