import type { ToolSpec } from '../client.js'

/** Is it the same offer? Every run makes a list of its own, out of the same parts: what a wire serialised of one fits the other. */
export const isSameOffer = (some: readonly ToolSpec[], others: readonly ToolSpec[]): boolean =>
  some === others ||
  (some.length === others.length &&
    some.every((tool, index) => {
      const other = others[index]
      return tool.name === other?.name && tool.parameters === other.parameters && tool.description === other.description
    }))
