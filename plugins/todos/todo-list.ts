import { type Static, Type } from '@sinclair/typebox'
import { Failure } from '#contracts/errors'

export const TODO_STATUSES = ['pending', 'in_progress', 'completed'] as const
export const MAX_TODOS = 500
const MAX_NAMED = 20

const TodoStatus = Type.Union(TODO_STATUSES.map(status => Type.Literal(status)))
const Id = Type.String({ minLength: 1, maxLength: 128 })
const Text = Type.String({ minLength: 1, maxLength: 10_000 })

export const Todo = Type.Object({ id: Type.String(), text: Type.String(), status: TodoStatus })
export type Todo = Readonly<Static<typeof Todo>>

/** An item as it comes from outside. The status is checked here, so that the message can name all of them. */
export const TodoDraft = Type.Object({
  id: Type.Optional(Id),
  text: Text,
  status: Type.Optional(Type.String({ description: `${TODO_STATUSES.join(', ')}; default: pending.` })),
})
export type TodoDraft = Readonly<Static<typeof TodoDraft>>

export const TodoDrafts = Type.Array(TodoDraft, { maxItems: MAX_TODOS })

/** The whole list anew; items without an id get one. Fails with `invalid_request`, naming the item. */
export function replaced(drafts: readonly TodoDraft[]): readonly Todo[] {
  const taken = new Set<string>()
  for (const [index, { id }] of drafts.entries()) {
    if (id === undefined) continue
    if (taken.has(id)) throw wrong(`todos[${index}].id: ${JSON.stringify(id)} is there twice`)
    taken.add(id)
  }
  let next = 1
  const freshId = (): string => {
    while (taken.has(String(next))) next++
    taken.add(String(next))
    return String(next)
  }
  return drafts.map(({ id, text, status }, index) => ({
    id: id ?? freshId(),
    text: saying(text, `todos[${index}].text`),
    status: statusOf(status, `todos[${index}].status`),
  }))
}

/** One item with another text or status. */
export function updated(
  todos: readonly Todo[],
  id: string,
  change: { readonly text?: string; readonly status?: string },
): readonly Todo[] {
  const old = found(todos, id)
  const fresh: Todo = {
    id,
    text: change.text === undefined ? old.text : saying(change.text, 'text'),
    status: change.status === undefined ? old.status : statusOf(change.status, 'status'),
  }
  return todos.map(todo => (todo === old ? fresh : todo))
}

export const without = (todos: readonly Todo[], id: string): readonly Todo[] => {
  const old = found(todos, id)
  return todos.filter(todo => todo !== old)
}

function found(todos: readonly Todo[], id: string): Todo {
  const todo = todos.find(each => each.id === id)
  if (todo) return todo
  const known = todos.slice(0, MAX_NAMED).map(each => JSON.stringify(each.id))
  const rest = todos.length > MAX_NAMED ? ` and ${todos.length - MAX_NAMED} more` : ''
  const there = known.length > 0 ? `there are ${known.join(', ')}${rest}` : 'the list is empty'
  throw wrong(`id: there is no todo ${JSON.stringify(id)}; ${there}`)
}

function saying(text: string, field: string): string {
  if (text.trim() === '') throw wrong(`${field}: must say something`)
  return text
}

function statusOf(status: string | undefined, field: string): Todo['status'] {
  if (status === undefined) return 'pending'
  const known = TODO_STATUSES.find(each => each === status)
  if (!known) throw wrong(`${field}: must be one of ${TODO_STATUSES.join(', ')}`)
  return known
}

const wrong = (message: string): Failure => new Failure('invalid_request', message)
