/** Together they keep a look through all names below some milliseconds, whatever is asked for. */
const LONGEST = 40
const MOST_COMPARED = 1000

/** Up to three of the names that look like the wanted one, nearest first. */
export function nearNames(wanted: string, names: readonly string[]): readonly string[] {
  const target = wanted.toLowerCase().slice(0, LONGEST)
  const limit = Math.max(2, Math.floor(target.length / 3))
  return names
    .slice(0, MOST_COMPARED)
    .map(name => ({ name, distance: nearness(target, name.toLowerCase().slice(0, LONGEST), limit) }))
    .filter(({ distance }) => distance <= limit)
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ name }) => name)
}

/** How many letters differ; one that begins or ends with the other is nearly the same. */
function nearness(a: string, b: string, limit: number): number {
  const [short, long] = a.length < b.length ? [a, b] : [b, a]
  if (short.length >= 3 && (long.startsWith(short) || long.endsWith(short))) return 1
  return long.length - short.length > limit ? limit + 1 : distanceOf(a, b)
}

function distanceOf(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const swap = (above[column - 1] as number) + (a[row - 1] === b[column - 1] ? 0 : 1)
      current.push(Math.min(swap, (above[column] as number) + 1, (current[column - 1] as number) + 1))
    }
    above = current
  }
  return above[b.length] as number
}
