/** What a run (or a workflow) waits for. */
export type CheckpointKind = 'approval' | 'user_input' | 'external_resume'
export type CheckpointStatus = 'pending' | 'approved' | 'denied' | 'resumed' | 'expired'

/** A durable pause, as `GET /v1/checkpoints/{id}` shows it. The JSON-valued fields are JSON text. */
export interface Checkpoint {
  readonly id: string
  readonly kind: CheckpointKind
  readonly status: CheckpointStatus
  readonly run_id?: string
  readonly workflow_run_id?: string
  readonly call_id?: string
  readonly tool?: string
  readonly args?: string
  readonly questions?: string
  readonly suspend_payload?: string
  readonly resume_schema?: string
  readonly resume_payload?: string
  readonly deadline_at?: string
  readonly created_at: string
  readonly updated_at: string
}

/** The letter that ends a run's wait. All who may end it post this key, so that exactly one of them wins. */
export interface AnswerLetter {
  readonly kind: string
  readonly key: string
}

/**
 * `letter`: the one that `run_id` waits for; resuming the checkpoint posts it, with a `ResumeBody`. Without one, resuming
 * only settles the checkpoint.
 */
export interface CheckpointDraft
  extends Omit<Checkpoint, 'id' | 'status' | 'resume_payload' | 'created_at' | 'updated_at'> {
  readonly letter?: AnswerLetter
}

/**
 * What `POST /v1/checkpoints/{id}/resume` posts: the payload as it came, and for a `user_input` the answers in it, not yet
 * checked. `by`: the public prefix of the key that resumed it.
 */
export type ResumeBody = { readonly payload: Readonly<Record<string, unknown>>; readonly by?: string } & (
  | { readonly answers: Readonly<Record<string, string>> }
  | { readonly resumed: true }
)

/**
 * The checkpoints of a deployment. A checkpoint is settled once: whoever is stored first has won. The tenant is part of
 * every key.
 */
export interface Checkpoints {
  /** Opens one; the same run, call and letter open the same one again, so that a restart makes no second. */
  open(tenantId: string, draft: CheckpointDraft): Promise<Checkpoint>
  read(tenantId: string, id: string): Promise<Checkpoint | undefined>
  /** The pending one of a run. */
  pendingOf(tenantId: string, runId: string): Promise<Checkpoint | undefined>
  /** False when it was settled before, or is unknown. */
  settle(tenantId: string, id: string, status: Exclude<CheckpointStatus, 'pending'>, payload?: string): Promise<boolean>
}
