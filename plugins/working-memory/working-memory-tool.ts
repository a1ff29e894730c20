import { Type } from '@sinclair/typebox'
import type { ActiveRun } from '#contracts/run/active-run'
import { defineTool, type ToolResult } from '#contracts/tool/tool'
import type { MemoryChange, WorkingMemory } from './memory.js'
import { noteChange } from './snippet.js'

const MAX_VALUE_CHARS = 16 * 1024

const parameters = Type.Object({
  action: Type.Union(
    ['set', 'get', 'delete', 'list'].map(action => Type.Literal(action)),
    {
      description: 'set, get and delete take a key; set takes a value too.',
    },
  ),
  key: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  value: Type.Optional(Type.Unknown({ description: 'Any JSON value.' })),
})

/** `working_memory`: notes the agent keeps for itself. */
export function createWorkingMemoryTool(memory: WorkingMemory) {
  const edit = async (run: ActiveRun, change: (entries: Record<string, unknown>) => void) => {
    try {
      return await memory.change(run, change)
    } finally {
      noteChange(run)
    }
  }
  return defineTool({
    name: 'working_memory',
    description:
      'Keep small notes (key and JSON value) that you see before every turn of this conversation, also in later runs. Actions: set, get, delete, list.',
    parameters,
    action: 'write',
    tags: ['memory', 'notes'],
    condition: 'record store configured',
    subject: ({ key }) => (key === undefined ? {} : { text: key }),
    async execute({ action, key, value }, { run }): Promise<ToolResult> {
      if (action === 'list') return { output: { entries: await memory.read(run) } }
      if (key === undefined) return fail(`action ${action} needs a key`)
      if (action === 'get') {
        const entries = await memory.read(run)
        return {
          output: Object.hasOwn(entries, key) ? { key, found: true, value: entries[key] } : { key, found: false },
        }
      }
      if (action === 'delete') {
        let deleted = false
        const change = await edit(run, entries => {
          deleted = Object.hasOwn(entries, key)
          delete entries[key]
        })
        return told(change, { key, deleted })
      }
      if (value === undefined) return fail('action set needs a value; delete removes a key')
      if (key === '__proto__') return fail('use another key')
      if (JSON.stringify(value).length > MAX_VALUE_CHARS)
        return fail(`a value may take ${MAX_VALUE_CHARS} characters; write longer things to a file`)
      const change = await edit(run, entries => {
        entries[key] = value
      })
      return told(change, { key, value })
    },
  })
}

const fail = (message: string): ToolResult => ({ error: { code: 'invalid_request', message } })

const told = (change: MemoryChange, output: Readonly<Record<string, unknown>>): ToolResult =>
  change.kind === 'changed' ? { output } : fail(change.because)
