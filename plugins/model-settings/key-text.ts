/** A key as it goes into a header: what a file or a person gave, without the line end. Undefined: it is none. */
export function keyText(text: string): string | undefined {
  const key = text.trim()
  return /^[!-~]{1,8192}$/.test(key) ? key : undefined
}
