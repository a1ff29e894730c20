import type { Terminal } from '../environment.js'
import { type ConnectionOptions, connect } from '../options.js'
import { plainLine } from '../render/plain-text.js'
import { tellReply } from './tell-reply.js'

interface TodoList {
  readonly todos: readonly { readonly text: string; readonly status: string }[]
}

const MARKS: Readonly<Record<string, string>> = { completed: 'x', in_progress: '>' }

/** Shows what a run has noted to do. Resolves with the exit code. */
export async function showTodos(
  terminal: Terminal,
  runId: string,
  options: ConnectionOptions & { readonly json?: boolean },
): Promise<number> {
  const path = `/v1/runs/${encodeURIComponent(runId)}/todos`
  const reply = await connect(terminal, options).request<TodoList>('GET', path)
  return tellReply(terminal, reply, options.json, ({ todos }) =>
    todos.length === 0
      ? 'nothing noted\n'
      : todos.map(({ text, status }) => `[${MARKS[status] ?? ' '}] ${plainLine(text)}\n`).join(''),
  )
}
