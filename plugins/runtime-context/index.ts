import { Type } from '@sinclair/typebox'
import { definePlugin, STAGE } from '#contracts/plugin'
import { NOTICES, RECORDS } from '#contracts/ports'
import { machineFacts } from './machine.js'
import { NoticeQueue } from './notice-queue.js'
import { dropOffered, noticesFor } from './offer.js'
import { permissionsNotice } from './permissions-notice.js'
import { runtimeBlock } from './runtime-block.js'

/** What a run cannot know from its transcript: time, spend, surroundings, what happened before it, and what it may do. */
export const plugin = definePlugin({
  name: 'runtime-context',
  config: Type.Object({}),
  needs: [RECORDS],
  provides: [NOTICES],
  register(scope) {
    const machine = machineFacts()
    const queue = new NoticeQueue(scope.use(RECORDS), Date.now)
    scope.provide(NOTICES, queue)
    // Last: the prefix that stays the same from step to step is as long as it can be.
    scope.tap(
      'turnRequesting',
      async (request, run) => {
        const notices = await noticesFor(run, queue, scope.log)
        const block = runtimeBlock(run, { system: request.system, machine, notices, nowMs: Date.now() })
        const texts = run.turns > 0 ? [block] : [permissionsNotice(run), block]
        const trailing = texts.map(content => ({ role: 'system' as const, content, is_meta: true }))
        return { ...request, trailing: [...request.trailing, ...trailing] }
      },
      { stage: STAGE.last },
    )
    scope.tap('runSettling', async (_ending, run) => dropOffered(run, queue))
  },
})
