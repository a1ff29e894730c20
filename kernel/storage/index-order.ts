import type { IndexValue } from '#contracts/store/records'

/** Numbers before texts, numbers by size, texts by code point: the order every store keeps. */
export function compareIndexValues(a: IndexValue, b: IndexValue): number {
  if (typeof a === 'number') return typeof b === 'number' ? a - b : -1
  return typeof b === 'number' ? 1 : compareText(a, b)
}

/** Order by code point. JavaScript's own `<` goes by UTF-16 unit and puts U+FFFD after an emoji. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at += 1) {
    const difference = rank(a.charCodeAt(at)) - rank(b.charCodeAt(at))
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** Surrogates stand for characters above U+FFFF, so they rank after every other unit. */
const rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)
