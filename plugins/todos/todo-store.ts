import { Failure } from '#contracts/errors'
import type { Collection, Records } from '#contracts/store/records'
import type { Todo } from './todo-list.js'

interface StoredTodos {
  readonly todos: readonly Todo[]
}

const MAX_ATTEMPTS = 20

/** The todo list of each run, kept with the runs: it outlives the run's end and, with a run database, the daemon. */
export class TodoStore {
  readonly #lists: Collection<StoredTodos>

  constructor(records: Records) {
    this.#lists = records.collection({ name: 'todos.lists', namespace: 'run' })
  }

  async read(tenantId: string, runId: string): Promise<readonly Todo[]> {
    return (await this.#lists.get(tenantId, runId))?.value.todos ?? []
  }

  /** Changes the list as it is at the moment of writing; what `change` throws leaves it as it was. */
  async change(
    tenantId: string,
    runId: string,
    change: (todos: readonly Todo[]) => readonly Todo[],
  ): Promise<readonly Todo[]> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const stored = await this.#lists.get(tenantId, runId)
      const todos = change(stored?.value.todos ?? [])
      const outcome = await this.#lists.put(tenantId, runId, { todos }, stored?.version ?? 0)
      if (outcome.kind === 'written') return todos
    }
    throw new Failure('conflict', 'the todo list is being changed by many at once; try again')
  }
}
