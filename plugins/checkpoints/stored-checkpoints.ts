import { createHash } from 'node:crypto'
import type { AnswerLetter, Checkpoint, CheckpointDraft, Checkpoints } from '#contracts/checkpoint'
import type { ActiveRun } from '#contracts/run/active-run'
import type { Collection, Records } from '#contracts/store/records'

/** A checkpoint as it is kept: what is shown, and the letter that answers it. */
export interface KeptCheckpoint extends Checkpoint {
  readonly letter?: AnswerLetter
}

/** Checkpoints as records: durable where runs are. */
export class StoredCheckpoints implements Checkpoints {
  readonly #kept: Collection<KeptCheckpoint>
  /** Runs with a checkpoint of this process; all others need no look at their end. */
  readonly #runs = new Set<string>()

  constructor(
    records: Records,
    private readonly now: () => number,
  ) {
    this.#kept = records.collection<KeptCheckpoint>({
      name: 'checkpoints',
      namespace: 'run',
      indexes: { pending_run: ({ status, run_id }) => (status === 'pending' ? run_id : undefined) },
    })
  }

  async open(tenantId: string, draft: CheckpointDraft): Promise<Checkpoint> {
    const id = idOf(tenantId, draft)
    const at = this.#time()
    const fresh: KeptCheckpoint = { id, status: 'pending', ...draft, created_at: at, updated_at: at }
    if (draft.run_id) this.#runs.add(draft.run_id)
    const written = await this.#kept.put(tenantId, id, fresh, 0)
    if (written.kind === 'written') return publicCheckpoint(fresh)
    return (await this.read(tenantId, id)) ?? publicCheckpoint(fresh)
  }

  async read(tenantId: string, id: string): Promise<Checkpoint | undefined> {
    const kept = await this.find(tenantId, id)
    return kept && publicCheckpoint(kept)
  }

  async pendingOf(tenantId: string, runId: string): Promise<Checkpoint | undefined> {
    const [first] = await this.#kept.scan({ tenantId, index: 'pending_run', from: runId, limit: 1 })
    return first?.value.run_id === runId ? publicCheckpoint(first.value) : undefined
  }

  async settle(
    tenantId: string,
    id: string,
    status: Exclude<Checkpoint['status'], 'pending'>,
    payload?: string,
  ): Promise<boolean> {
    const stored = await this.#kept.get(tenantId, id)
    if (stored?.value.status !== 'pending') return false
    const settled: KeptCheckpoint = {
      ...stored.value,
      status,
      ...(payload !== undefined && { resume_payload: payload }),
      updated_at: this.#time(),
    }
    // A checkpoint changes once: whoever changed it meanwhile has settled it.
    return (await this.#kept.put(tenantId, id, settled, stored.version)).kind === 'written'
  }

  /**
   * A run that is over waits for nothing: expires what nobody settled. Its owner may have been stopped while it opened it,
   * or not be installed any more after a restart.
   */
  async expire({ id: runId, tenantId, isResumed }: Pick<ActiveRun, 'id' | 'tenantId' | 'isResumed'>): Promise<void> {
    if (!this.#runs.delete(runId) && !isResumed) return
    for (let left = await this.pendingOf(tenantId, runId); left; left = await this.pendingOf(tenantId, runId))
      if (!(await this.settle(tenantId, left.id, 'expired'))) return
  }

  /** As `read`, with the letter. */
  async find(tenantId: string, id: string): Promise<KeptCheckpoint | undefined> {
    return (await this.#kept.get(tenantId, id))?.value
  }

  #time(): string {
    return new Date(this.now()).toISOString()
  }
}

/** What callers see: everything but the letter, and nothing that is empty. */
export function publicCheckpoint({ letter, ...shown }: KeptCheckpoint): Checkpoint {
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== '')) as unknown as Checkpoint
}

/** The same pause has the same id, so that a restart finds the checkpoint it opened before. */
function idOf(tenantId: string, { run_id, workflow_run_id, call_id, letter, kind }: CheckpointDraft): string {
  const pause = JSON.stringify([tenantId, kind, run_id, workflow_run_id, call_id, letter?.kind, letter?.key])
  const hex = createHash('sha256').update(pause).digest('hex')
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)]
  return `checkpoint_${parts.join('-')}`
}
