import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { TASK_SOURCES } from '#contracts/ports'
import { Task } from '#contracts/tasks'
import { listTasks } from './task-list.js'

/** `GET /v1/tasks`: what goes on in the background, whoever does it. */
export const plugin = definePlugin({
  name: 'tasks',
  config: Type.Object({}),
  gathers: [TASK_SOURCES],
  register(scope) {
    const sources = scope.gather(TASK_SOURCES)
    scope.routes(async app => {
      app.get(
        '/v1/tasks',
        {
          config: { scope: 'runs:read' },
          schema: {
            summary: 'List background work',
            tags: ['jobs'],
            response: { 200: Type.Object({ tasks: Type.Array(Task) }) },
          },
        },
        async ({ identity }) => ({
          tasks: [...(await listTasks(sources, identity.tenantId, Date.now(), scope.log))],
        }),
      )
    })
  },
})
