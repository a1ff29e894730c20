import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { noteCall, recapOf } from './recap.js'

/** The `recap` of a finished run: what it was for, what it touched, how to go on. */
export const plugin = definePlugin({
  name: 'recap',
  config: Type.Object({}),
  register(scope) {
    scope.tap('toolStarting', async (call, run) => noteCall(call, run))
    scope.tap('runSettling', async (ending, run) => run.setRecap(recapOf(ending, run)))
  },
})
