import { type Static, Type } from '@sinclair/typebox'
import type { Job } from './job-table.js'

/** A job as tools and routes show it: a snapshot, its output bounded. */
export const JobView = Type.Object({
  shell_id: Type.String(),
  running: Type.Boolean(),
  exit_code: Type.Integer({ description: '-1 while it runs, and when it was killed or timed out.' }),
  timed_out: Type.Boolean(),
  output: Type.String({ description: 'stdout and stderr together; beginning and end of a long one.' }),
  started_at: Type.String(),
  truncated: Type.Optional(Type.Boolean()),
})
export type JobView = Readonly<Static<typeof JobView>>

export const viewOf = ({ id, outcome, capture, startedAt }: Job): JobView => ({
  shell_id: id,
  running: outcome === undefined,
  exit_code: outcome?.kind === 'exited' ? outcome.code : -1,
  timed_out: outcome?.kind === 'timed_out',
  output: capture.text(),
  started_at: startedAt.toISOString(),
  ...(capture.isTruncated && { truncated: true }),
})

const PREFIX = /^jm\d+:/

/** The HTTP id of a job is `jm1:<shell_id>`; what a tool calls `shell_id` is taken too. */
export const shellIdOf = (id: string): string => id.replace(PREFIX, '')
export const httpIdOf = (shellId: string): string => `jm1:${shellId}`
