/** Up to this the engine's own search is fast on any text; of longer texts it skips by the last so many characters only. */
const QUICK_CHARS = 200

/** Finds a text from a position on, -1 for nowhere. Its time grows with the two lengths added, never multiplied. */
export type FindText = (text: string, from: number) => number

/** Made once for many searches of one `part`. */
export function createFinder(part: string): FindText {
  if (part.length <= QUICK_CHARS) return (text, from) => text.indexOf(part, from)
  const borders = bordersOf(part)
  return (text, from) => {
    let same = 0
    for (let at = from; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      while (same > 0 && part.charCodeAt(same) !== unit) same = borders[same - 1] ?? 0
      if (part.charCodeAt(same) === unit) same++
      if (same === part.length) return at - same + 1
    }
    return -1
  }
}

/** For each beginning of the text: how long a shorter beginning it also ends with (Knuth, Morris, Pratt). */
function bordersOf(part: string): Uint32Array {
  const borders = new Uint32Array(part.length)
  let same = 0
  for (let at = 1; at < part.length; at++) {
    while (same > 0 && part.charCodeAt(same) !== part.charCodeAt(at)) same = borders[same - 1] ?? 0
    if (part.charCodeAt(same) === part.charCodeAt(at)) same++
    borders[at] = same
  }
  return borders
}
