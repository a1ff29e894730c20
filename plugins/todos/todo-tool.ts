import { type Static, Type } from '@sinclair/typebox'
import { isFailure } from '#contracts/errors'
import { defineTool, type ToolResult } from '#contracts/tool/tool'
import { replaced, type Todo, TodoDrafts, updated, without } from './todo-list.js'
import type { TodoStore } from './todo-store.js'

const Arguments = Type.Object({
  action: Type.Union([Type.Literal('set'), Type.Literal('update'), Type.Literal('delete'), Type.Literal('get')]),
  todos: Type.Optional(TodoDrafts),
  id: Type.Optional(Type.String({ maxLength: 128, description: 'Of the item to update or delete.' })),
  text: Type.Optional(Type.String({ minLength: 1, maxLength: 10_000 })),
  status: Type.Optional(Type.String({ description: 'pending, in_progress or completed.' })),
})

/** The run's own list of what is to be done. */
export const todoTool = (store: TodoStore) =>
  defineTool({
    name: 'todos',
    description:
      'Keep a list of what this task takes, visible to the person behind it. `set` replaces the list, `update` changes text or ' +
      'status of one item by its id, `delete` removes one, `get` shows the list. Use it for work of several parts.',
    parameters: Arguments,
    action: 'write',
    owner: 'todos',
    tags: ['todo', 'plan', 'list'],
    normalise: normalised,
    async execute(args, { run }): Promise<ToolResult> {
      const change = changeOf(args)
      if (typeof change === 'string') return { error: change }
      try {
        const todos = change ? await store.change(run.tenantId, run.id, change) : await store.read(run.tenantId, run.id)
        return { output: { run_id: run.id, todos } }
      } catch (error) {
        if (isFailure(error, 'invalid_request')) return { error: error.message }
        throw error
      }
    },
  })

type Loose = Readonly<Record<string, unknown>>

/** Models write ids as the numbers they look like, and call a text its content. */
function normalised(args: Loose): Loose {
  const item = ({ id, content, text = content, ...rest }: Loose): Loose => ({
    ...rest,
    ...(id !== undefined && { id: typeof id === 'number' ? String(id) : id }),
    ...(text !== undefined && { text }),
  })
  const isObject = (value: unknown): value is Loose => typeof value === 'object' && value !== null
  const { todos } = args
  const whole = item(args)
  return Array.isArray(todos) ? { ...whole, todos: todos.map(todo => (isObject(todo) ? item(todo) : todo)) } : whole
}

/** What a call does to the list; undefined: nothing; a text: what it lacks. */
function changeOf({ action, todos, id, text, status }: Static<typeof Arguments>) {
  switch (action) {
    case 'get':
      return undefined
    case 'set':
      return todos ? (): readonly Todo[] => replaced(todos) : 'set needs todos: the whole new list'
    case 'update': {
      if (!id) return 'update needs id: the item to change'
      if (text === undefined && status === undefined) return 'update needs text or status: what to change'
      const change = { ...(text !== undefined && { text }), ...(status !== undefined && { status }) }
      return (list: readonly Todo[]) => updated(list, id, change)
    }
    case 'delete':
      return id ? (list: readonly Todo[]) => without(list, id) : 'delete needs id: the item to remove'
  }
}
