/** What the exit code of `run` and `attach` says; scripts rely on these numbers. */
export const EXIT = Object.freeze({
  /** The run completed, also when a cost limit ended it. */
  completed: 0,
  /** Wrong use, no daemon, a refused request: no run to speak of. */
  problem: 1,
  failed: 2,
  /** The run waits for a person and nobody is at this terminal. It is left alive. */
  blocked: 3,
  cancelled: 6,
  interrupted: 130,
})

/** The exit code of a terminal event; undefined for every other event. */
export function exitCodeOf(eventType: string): number | undefined {
  if (eventType === 'run.completed') return EXIT.completed
  if (eventType === 'run.failed') return EXIT.failed
  return eventType === 'run.cancelled' ? EXIT.cancelled : undefined
}
