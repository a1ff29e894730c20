import { Type } from '@sinclair/typebox'
import { definePlugin, defineTool } from 'runwright/contracts'
import { Config } from './config.js'
import { countWorkingDays } from './count-working-days.js'

/** Gives agents the tool `working_days`. */
export const plugin = definePlugin({
  name: 'working-days',
  config: Config,
  register(scope) {
    const holidays = new Set(scope.config.holidays)
    scope.tool(
      defineTool({
        name: 'working_days',
        description: 'Counts the working days from one date to another, both included.',
        parameters: Type.Object({
          from: Type.String({ description: 'First day, YYYY-MM-DD.' }),
          to: Type.String({ description: 'Last day, YYYY-MM-DD.' }),
        }),
        action: 'read',
        execute: async ({ from, to }) => countWorkingDays(from, to, holidays),
      }),
    )
  },
})
