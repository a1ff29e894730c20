import { type Static, Type } from '@sinclair/typebox'

/** Settings of plan mode. */
export const PlanModeConfig = Type.Object({
  network: Type.Union([Type.Literal('deny'), Type.Literal('as_admitted')], {
    default: 'deny',
    description:
      'Network of commands while planning. as_admitted leaves what the run was admitted with, and with it whatever a command can change over the network, this daemon included.',
  }),
})
export type PlanModeConfig = Readonly<Static<typeof PlanModeConfig>>
