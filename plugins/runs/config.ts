import { type Static, Type } from '@sinclair/typebox'

export const Config = Type.Object({
  idempotency_hours: Type.Number({
    default: 24,
    minimum: 0.01,
    maximum: 24 * 30,
    description: 'How long an Idempotency-Key stands for its run.',
  }),
})
export type Config = Readonly<Static<typeof Config>>
