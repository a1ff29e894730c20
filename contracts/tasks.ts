import { type Static, Type } from '@sinclair/typebox'

const text = Type.Optional(Type.String())

/** A piece of background work, as `GET /v1/tasks` shows it. */
export const Task = Type.Object({
  id: Type.String(),
  type: Type.String({ description: '`bash_job`, `subagent`, `cron`, `callback`, or what a plugin adds.' }),
  status: Type.String(),
  label: Type.String(),
  started_at: Type.String({ description: 'RFC 3339, UTC.' }),
  age_seconds: Type.Integer({ minimum: 0 }),
  actions: Type.Array(Type.String(), { description: 'What can be done with it over its own routes.' }),
  conversation_id: text,
  next_run_at: text,
  last_run_at: text,
  fires_at: text,
  last_execution_status: text,
  run_id: text,
  attempt: Type.Optional(Type.Integer()),
  next_attempt_at: text,
  last_error: text,
  updated_at: text,
})
export type Task = Readonly<Static<typeof Task>>

/** Where tasks of a kind come from. */
export interface TaskSource {
  /** Of this tenant only, a bounded number of them; the age is counted by whoever shows them. */
  list(tenantId: string): Promise<readonly Omit<Task, 'age_seconds'>[]>
}
