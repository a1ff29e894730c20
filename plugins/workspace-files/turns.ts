/** Who writes which file at the moment; plain data, so it may be carried over reloads. */
export interface Turns {
  readonly queues: Map<string, Promise<unknown>>
  /** Grows with every turn that ended: what was looked at before may have changed since. */
  ended: number
}

export const createTurns = (): Turns => ({ queues: new Map(), ended: 0 })

/** Runs `task` when every earlier task with this key has ended, however it ended. */
export async function inTurn<T>(turns: Turns, key: string, task: () => Promise<T>): Promise<T> {
  const before = turns.queues.get(key) ?? Promise.resolve()
  const mine = before.then(task, task)
  turns.queues.set(key, mine)
  try {
    return await mine
  } finally {
    turns.ended++
    if (turns.queues.get(key) === mine) turns.queues.delete(key)
  }
}
