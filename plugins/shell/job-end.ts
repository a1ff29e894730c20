import type { Job } from './job-table.js'
import { type JobTrace, traceOf } from './job-traces.js'

const OUTPUT_CHARACTERS = 2_000
const NOTED_COMMAND_CHARACTERS = 160

/** How a job ended, for those who are told. `lost`: the daemon that ran it is gone, and the job with it. */
export interface JobEnd {
  readonly tenantId: string
  readonly trace: Omit<JobTrace, 'table'>
  readonly how: 'exited' | 'timed_out' | 'aborted' | 'refused' | 'lost'
  /** -1 unless it exited. */
  readonly exitCode: number
  /** The last 2,000 characters. */
  readonly output: string
  readonly isTruncated: boolean
}

/** Of a job that has ended. */
export function endOf(job: Job): JobEnd {
  const { outcome = { kind: 'aborted' } } = job
  const text = job.capture.text()
  return {
    tenantId: job.tenantId,
    trace: traceOf(job),
    how: outcome.kind,
    exitCode: outcome.kind === 'exited' ? outcome.code : -1,
    output: text.slice(-OUTPUT_CHARACTERS),
    isTruncated: job.capture.isTruncated || text.length > OUTPUT_CHARACTERS,
  }
}

/** Of a job whose process is gone. */
export const lostEnd = (tenantId: string, trace: JobTrace): JobEnd => ({
  tenantId,
  trace,
  how: 'lost',
  exitCode: -1,
  output: '',
  isTruncated: false,
})

/** Payload of `job.completed`. `lost` is there for a lost job only. */
export const completionOf = ({ trace, how, exitCode, output, isTruncated }: JobEnd) => ({
  shell_id: trace.shell_id,
  command: trace.command,
  exit_code: exitCode,
  timed_out: how === 'timed_out',
  output,
  truncated: isTruncated,
  working_dir: trace.working_dir,
  ...(how === 'lost' && { lost: true }),
})

const HOW: Readonly<Record<JobEnd['how'], (exitCode: number) => string>> = {
  exited: exitCode => `ended with exit code ${exitCode}; job_output shows what it said`,
  timed_out: () => 'was killed when its time was over; job_output shows what it said',
  aborted: () => 'was ended before it was done; job_output shows what it said',
  refused: () => 'could not be run; job_output says why',
  lost: () =>
    'was lost when the daemon stopped: it did not end by itself, and its output is gone. Start it again if it is still needed',
}

/** What the next run of the conversation is told. The output is not part of it: the model reads a notice as our word. */
export function noticeOf({ trace, how, exitCode }: JobEnd): string {
  const { command } = trace
  const shown = command.length > NOTED_COMMAND_CHARACTERS ? `${command.slice(0, NOTED_COMMAND_CHARACTERS)}…` : command
  return `The background job ${trace.shell_id}, started at ${trace.started_at} as ${JSON.stringify(shown)}, ${HOW[how](exitCode)}.`
}
