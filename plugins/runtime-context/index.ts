import { Type } from '@sinclair/typebox'
import { definePlugin, STAGE } from '#contracts/plugin'
import { machineFacts } from './machine.js'
import { permissionsNotice } from './permissions-notice.js'
import { runtimeBlock } from './runtime-block.js'

/** What a run cannot know from its transcript: time, spend, surroundings, and at first what it may do. */
export const plugin = definePlugin({
  name: 'runtime-context',
  config: Type.Object({}),
  register(scope) {
    const machine = machineFacts()
    // Last: the prefix that stays the same from step to step is as long as it can be.
    scope.tap(
      'turnRequesting',
      async (request, run) => {
        const block = runtimeBlock(run, request.system, machine, Date.now())
        const texts = run.turns > 0 ? [block] : [permissionsNotice(run), block]
        const trailing = texts.map(content => ({ role: 'system' as const, content, is_meta: true }))
        return { ...request, trailing: [...request.trailing, ...trailing] }
      },
      { stage: STAGE.last },
    )
  },
})
