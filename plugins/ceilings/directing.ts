import { Failure, isFailure } from '#contracts/errors'
import type { RunCeilings } from '#contracts/run/ceilings'
import { type Ceilings, ceilingFor } from './ceilings.js'
import { holdDirected } from './hold.js'

/** Holds whoever speaks to a run to what they could have started themselves. */
export const directing = (ceilings: Ceilings, workspace: string): RunCeilings => ({
  async mayDirect(identity, run) {
    try {
      await holdDirected(run, ceilingFor(identity, ceilings), { workspace })
    } catch (error) {
      if (!isFailure(error, 'forbidden')) throw error
      throw new Failure('forbidden', `this key may not direct run ${run.id}: ${error.message}`, {
        cause: error,
        details: error.details,
      })
    }
  },
})
