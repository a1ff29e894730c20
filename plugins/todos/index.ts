import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { RECORDS, RUNS } from '#contracts/ports'
import { todoRoutes } from './routes.js'
import { TodoStore } from './todo-store.js'
import { todoTool } from './todo-tool.js'

/** A todo list per run, for the model and for callers. */
export const plugin = definePlugin({
  name: 'todos',
  config: Type.Object({}),
  needs: [RUNS, RECORDS],
  register(scope) {
    const store = new TodoStore(scope.use(RECORDS))
    scope.tool(todoTool(store))
    scope.routes(todoRoutes(scope.use(RUNS), store))
  },
})
