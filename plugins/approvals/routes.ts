import { type Static, Type } from '@sinclair/typebox'
import { IdParams, type RoutePlugin } from '#contracts/http'
import { type AnsweringDeps, answerPending } from './answer-pending.js'

const Shown = {
  call_id: Type.Optional(
    Type.String({ maxLength: 1024, description: 'Answer only if this call is the pending one; else 409.' }),
  ),
  checkpoint_id: Type.Optional(
    Type.String({ maxLength: 256, description: 'The same by checkpoint: call ids may come again within a run.' }),
  ),
}
const Approval = Type.Object({
  option: Type.Optional(Type.String({ maxLength: 256, description: 'Id of an option that was offered.' })),
  ...Shown,
})
const Denial = Type.Object({
  ...Shown,
  message: Type.Optional(Type.String({ maxLength: 4096, description: 'Told to the model.' })),
})
const Approved = Type.Object({ status: Type.Literal('approved') })
const Denied = Type.Object({ status: Type.Literal('denied') })

/** `approve` and `deny`: of all who answer a call, exactly one is told 200. */
export function approvalRoutes(deps: AnsweringDeps): RoutePlugin {
  return async app => {
    app.post(
      '/v1/runs/:id/approve',
      {
        config: { scope: 'runs:write' },
        schema: {
          summary: 'Approve the pending call',
          tags: ['runs'],
          params: IdParams,
          body: Type.Optional(Approval),
          response: { 200: Approved },
        },
      },
      async ({ identity, params, body }): Promise<Static<typeof Approved>> => {
        const { option, ...shown } = body ?? {}
        const answer = { decision: 'approved', ...(option !== undefined && { option }) } as const
        await answerPending(deps, identity, params.id, shown, answer)
        return { status: 'approved' }
      },
    )

    app.post(
      '/v1/runs/:id/deny',
      {
        config: { scope: 'runs:write' },
        schema: {
          summary: 'Deny the pending call',
          tags: ['runs'],
          params: IdParams,
          body: Type.Optional(Denial),
          response: { 200: Denied },
        },
      },
      async ({ identity, params, body }): Promise<Static<typeof Denied>> => {
        const { message, ...shown } = body ?? {}
        const answer = { decision: 'denied', ...(message?.trim() && { message: message.trim() }) } as const
        await answerPending(deps, identity, params.id, shown, answer)
        return { status: 'denied' }
      },
    )
  }
}
