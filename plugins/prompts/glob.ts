/** Does the whole text fit the pattern? `*` stands for any run of characters. At worst quadratic. */
export function matchesPattern(pattern: string, text: string): boolean {
  let at = 0
  let inText = 0
  let star = -1
  let retry = 0
  while (inText < text.length) {
    if (pattern[at] === '*') {
      star = at++
      retry = inText
    } else if (pattern[at] === text[inText]) {
      at++
      inText++
    } else if (star >= 0) {
      at = star + 1
      inText = ++retry
    } else return false
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}
