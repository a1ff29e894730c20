/** Is a header given more than once? Node shows only the first of some, and joins others. `name` is in lower case. */
export function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let found = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at]
    if (given?.length === name.length && given.toLowerCase() === name) found++
  }
  return found > 1
}
