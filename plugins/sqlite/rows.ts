import type { Value } from './protocol.js'

/** Cuts a flat reply into rows of `width` values. */
export function rowsOf(reply: readonly Value[], width: number): readonly (readonly Value[])[] {
  const rows: (readonly Value[])[] = []
  for (let at = 0; at < reply.length; at += width) rows.push(reply.slice(at, at + width))
  return rows
}
