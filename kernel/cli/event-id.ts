/**
 * The number of an event in its run, from `<run_id>:<seq>`; undefined for an id of another run or form. Read here and not
 * by `contracts/event/envelope`, whose schemas would cost every command 70 ms of start-up.
 */
export function sequenceOf(eventId: string | undefined, runId: string): number | undefined {
  if (!eventId?.startsWith(`${runId}:`)) return undefined
  const digits = eventId.slice(runId.length + 1)
  return /^\d{1,15}$/.test(digits) ? Number(digits) : undefined
}
