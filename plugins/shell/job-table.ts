import { randomBytes, randomUUID } from 'node:crypto'
import { Failure } from '#contracts/errors'
import type { Sandbox, SandboxExit, SandboxPolicy, SandboxRefusal } from '#contracts/sandbox'
import { Capture } from './capture.js'

export const MAX_JOBS = 64
const RETENTION_MS = 30 * 60_000

/** Whose a job is. Everybody else's jobs are unknown. */
export interface JobOwner {
  readonly tenantId: string
  /** Absent: any conversation of the tenant. */
  readonly conversationId?: string
}

/** What is known of a job before it starts. */
export interface JobFacts {
  readonly id: string
  /** Names the event that tells its end. */
  readonly mark: string
  readonly tenantId: string
  readonly conversationId: string
  readonly runId: string
  readonly command: string
  readonly cwd: string
  readonly startedAt: Date
}

export interface JobDraft extends JobFacts {
  readonly timeoutMs: number
  readonly capturedBytes: number
  readonly policy: SandboxPolicy
  /** Of the run: a cancel ends its jobs. */
  readonly signal: AbortSignal
}

export interface Job extends JobFacts {
  readonly capture: Capture
  readonly stop: AbortController
  /** Resolves when no process of the job is left. */
  readonly ended: Promise<void>
  outcome?: SandboxExit | SandboxRefusal
  /** Monotonic; decides when it is forgotten. */
  endedAtMs?: number
}

/** Jobs as they are carried across reloads: data, no code. */
export interface JobTable {
  /** A process has one; another has another. */
  readonly id: string
  readonly jobs: Map<string, Job>
  /** Ended, and nobody was told so far. */
  readonly untold: Job[]
  /** Called when a job is added to `untold`. */
  wake(): void
  /** Runs that are over while jobs of theirs go on, with what is left to do after the last of them. */
  readonly leftBehind: Map<string, () => Promise<void>>
}

export const createJobTable = (): JobTable => ({
  id: randomUUID(),
  jobs: new Map(),
  untold: [],
  wake: () => undefined,
  leftBehind: new Map(),
})

/** Facts of a job that is about to start. */
export const newJob = (of: Omit<JobFacts, 'id' | 'mark' | 'startedAt'>): JobFacts => ({
  id: `job_${randomBytes(6).toString('hex')}`,
  mark: randomUUID(),
  startedAt: new Date(),
  ...of,
})

/** Starts a command in the background. Its output is captured with both ends; nobody has to read it. */
export function startJob(table: JobTable, sandbox: Sandbox, draft: JobDraft): Job {
  const { timeoutMs, capturedBytes, policy, signal, ...facts } = draft
  const { id, runId } = facts
  makeRoom(table, facts.tenantId)
  const capture = new Capture(capturedBytes)
  const stop = new AbortController()
  const work = sandbox.run(
    {
      argv: ['bash', '-c', '--', facts.command],
      cwd: facts.cwd,
      mergesOutput: true,
      session: runId,
      timeoutMs,
      onOutput: chunk => capture.add(chunk),
    },
    policy,
    AbortSignal.any([stop.signal, signal]),
  )
  const job: Job = { ...facts, capture, stop, ended: work.then(settle, () => settle({ kind: 'aborted' })) }
  async function settle(outcome: SandboxExit | SandboxRefusal): Promise<void> {
    job.outcome = outcome
    job.endedAtMs = performance.now()
    if (outcome.kind === 'refused') capture.add(Buffer.from(outcome.reason))
    table.untold.push(job)
    table.wake()
    await cleanUp(table, runId)
  }
  table.jobs.set(id, job)
  return job
}

/** The owner's job; undefined for an unknown, forgotten or foreign one. */
export function findJob(table: JobTable, id: string, owner: JobOwner): Job | undefined {
  forgetOld(table)
  const job = table.jobs.get(id)
  if (job?.tenantId !== owner.tenantId) return undefined
  return owner.conversationId === undefined || owner.conversationId === job.conversationId ? job : undefined
}

/** A tenant's jobs, running and remembered. */
export function jobsOf(table: JobTable, tenantId: string): readonly Job[] {
  forgetOld(table)
  return [...table.jobs.values()].filter(job => job.tenantId === tenantId)
}

/** Ends a job and resolves when nothing of it is left. False: it had ended before. */
export async function killJob(job: Job): Promise<boolean> {
  const wasRunning = job.outcome === undefined
  job.stop.abort()
  await job.ended
  return wasRunning
}

/** Calls `after` now, or when the last job of the run has ended. */
export async function afterJobs(table: JobTable, runId: string, after: () => Promise<void>): Promise<void> {
  table.leftBehind.set(runId, after)
  await cleanUp(table, runId)
}

/** Ends every job. */
export async function closeJobs(table: JobTable): Promise<void> {
  await Promise.all([...table.jobs.values()].map(killJob))
  table.jobs.clear()
}

async function cleanUp(table: JobTable, runId: string): Promise<void> {
  const after = table.leftBehind.get(runId)
  const isBusy = [...table.jobs.values()].some(job => job.runId === runId && job.outcome === undefined)
  if (!after || isBusy) return
  table.leftBehind.delete(runId)
  await after().catch(() => undefined)
}

function forgetOld({ jobs }: JobTable): void {
  const before = performance.now() - RETENTION_MS
  for (const [id, { endedAtMs }] of jobs) if (endedAtMs !== undefined && endedAtMs < before) jobs.delete(id)
}

/** Of a tenant's jobs at most so many are kept; those that ended longest ago make room. */
function makeRoom(table: JobTable, tenantId: string): void {
  const own = jobsOf(table, tenantId)
  if (own.length < MAX_JOBS) return
  const [oldest] = own
    .filter(({ endedAtMs }) => endedAtMs !== undefined)
    .toSorted((one, other) => (one.endedAtMs ?? 0) - (other.endedAtMs ?? 0))
  if (!oldest)
    throw new Failure('unavailable', `${MAX_JOBS} background jobs are running already; end one with job_kill first`)
  table.jobs.delete(oldest.id)
}
