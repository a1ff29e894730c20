import { Type } from '@sinclair/typebox'
import { Failure } from '#contracts/errors'
import { IdParams, type RoutePlugin } from '#contracts/http'
import type { Runs } from '#contracts/run/runs'
import { replaced, Todo, TodoDrafts } from './todo-list.js'
import type { TodoStore } from './todo-store.js'

const TodoBody = Type.Object({ todos: TodoDrafts })
const TodoReply = Type.Object({ run_id: Type.String(), todos: Type.Array(Todo) })

/** Reading and replacing a run's todo list, while it runs and after. */
export function todoRoutes(runs: Runs, store: TodoStore): RoutePlugin {
  return async app => {
    app.get(
      '/v1/runs/:id/todos',
      {
        config: { scope: 'runs:read' },
        schema: { summary: 'Read a run’s todo list', tags: ['runs'], params: IdParams, response: { 200: TodoReply } },
      },
      async ({ identity, params: { id } }) => {
        await mustExist(runs, identity.tenantId, id)
        return { run_id: id, todos: [...(await store.read(identity.tenantId, id))] }
      },
    )

    app.put(
      '/v1/runs/:id/todos',
      {
        config: { scope: 'runs:write' },
        schema: {
          summary: 'Replace a run’s todo list',
          tags: ['runs'],
          params: IdParams,
          body: TodoBody,
          response: { 200: TodoReply },
        },
      },
      async ({ identity, params: { id }, body }) => {
        await mustExist(runs, identity.tenantId, id)
        const todos = await store.change(identity.tenantId, id, () => replaced(body.todos))
        return { run_id: id, todos: [...todos] }
      },
    )
  }
}

async function mustExist(runs: Runs, tenantId: string, id: string): Promise<void> {
  if (!(await runs.read(tenantId, id))) throw new Failure('not_found', `no run ${id}`)
}
