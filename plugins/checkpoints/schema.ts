import { Type } from '@sinclair/typebox'

const Text = Type.Optional(Type.String())
const JsonText = Type.Optional(Type.String({ description: 'JSON text.' }))
const Time = Type.String({ description: 'RFC 3339, UTC.' })
const literals = <const V extends readonly string[]>(values: V) =>
  Type.Union(values.map(value => Type.Literal(value as V[number])))

/** The record of `GET /v1/checkpoints/{id}`. */
export const CheckpointRecord = Type.Object({
  id: Type.String(),
  kind: literals(['approval', 'user_input', 'external_resume']),
  status: literals(['pending', 'approved', 'denied', 'resumed', 'expired']),
  run_id: Text,
  workflow_run_id: Text,
  call_id: Text,
  tool: Text,
  args: JsonText,
  questions: JsonText,
  suspend_payload: JsonText,
  resume_schema: JsonText,
  resume_payload: JsonText,
  deadline_at: Type.Optional(Time),
  created_at: Time,
  updated_at: Time,
})
