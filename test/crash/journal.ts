import { isTerminalEvent } from '#contracts/event/payloads'

/** What the clients of a daemon were told: nothing of it may be lost or altered, whatever happens to the daemon. */
export class Journal {
  /** Acknowledged runs with their prompts. */
  readonly runs = new Map<string, string>()
  /** Event id → the data line a reader was shown. */
  readonly frames = new Map<string, string>()
  /** Data lines that were shown differently later. */
  readonly altered: string[] = []
  readonly ended = new Set<string>()

  acknowledge(runId: string, prompt: string): void {
    this.runs.set(runId, prompt)
  }

  /** Takes a fully read frame in. */
  show(id: string, type: string, data: string): void {
    const before = this.frames.get(id)
    if (before !== undefined && before !== data) this.altered.push(id)
    this.frames.set(id, data)
    if (isTerminalEvent(type)) this.ended.add(id.slice(0, id.lastIndexOf(':')))
  }
}
