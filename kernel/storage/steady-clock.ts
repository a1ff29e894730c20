/** A clock that never goes back, whatever the wall clock does. */
export function createSteadyClock(wall: () => number = Date.now): () => number {
  let latest = 0
  return () => {
    latest = Math.max(latest, wall())
    return latest
  }
}
