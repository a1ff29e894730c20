/** Why a run in flight is to stop: its owner wants it cancelled, the daemon stops, or another process holds it now. */
export type InterruptCause = 'cancelled' | 'stopping' | 'lost'

/** The reason of an aborted run signal; thrown out of every wait of the run. */
export class Interrupt extends Error {
  override readonly name = 'AbortError'
  constructor(readonly why: InterruptCause) {
    super(`run ${why}`)
  }
}
