/**
 * A clock that never goes back: not when the wall clock is set back, and not below `floor`, the highest time the
 * database has seen. While the wall is behind, time goes on at the pace of the monotonic clock.
 */
export function createStoreClock(
  floor: number,
  wall: () => number = Date.now,
  monotonic: () => number = () => performance.now(),
): () => number {
  let latest = floor
  let readAt = monotonic()
  return () => {
    const at = monotonic()
    latest = Math.max(wall(), latest + Math.max(0, at - readAt))
    readAt = at
    return Math.floor(latest)
  }
}
