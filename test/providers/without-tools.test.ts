import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { startScriptedServer } from '#test/kit/chat-server'
import { bootWith, WIRES } from './wires.js'

const undos: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const undo of undos.splice(0).reverse()) await undo()
})

test.each(WIRES.map(wire => [wire.name, wire] as const))(
  '%s: a model that cannot call tools is sent none, also in a conversation in which another one called some',
  async (_, wire) => {
    const dir = await mkdtemp(join(tmpdir(), 'runwright-no-tools-'))
    undos.push(() => rm(dir, { recursive: true, force: true }))
    const server = await startScriptedServer(wire.scripted, {
      turns: [
        { toolCalls: [{ name: 'write', arguments: { path: 'a.txt', content: 'in the file' } }] },
        { text: 'Written.' },
        { text: 'It says what I was told.' },
      ],
    })
    undos.push(() => server.close())
    const live = await bootWith([[wire, server]], {
      dir,
      config: `[plugins.catalog.providers.${wire.provider}.models.thinker]
context_window = 100000
tool_calling = false${wire.name === 'responses' ? '\napi = "responses"' : ''}
`,
    })
    undos.push(live.stop)

    const did = await live.run({ prompt: 'Write.', model: wire.model, conversation_id: 'c' })
    const told = await live.run({ prompt: 'What does it say?', model: 'thinker', conversation_id: 'c' })

    expect(did.at(-1)).toMatchObject({ type: 'run.completed' })
    expect(told.at(-1)).toMatchObject({ type: 'run.completed', payload: { output: 'It says what I was told.' } })
    const warned = (events: typeof did) =>
      events.flatMap(({ type, payload }) => (type === 'prompt.warning' ? [payload?.code] : []))
    expect([warned(did), warned(told)]).toEqual([[], ['model_without_tools']])
    const [first, , last] = server.calls.map(({ body }) => JSON.stringify(body))
    expect(first).toContain('"tools"')
    for (const word of ['"tools"', '"tool_choice"', 'tool_use', 'tool_result', '"tool_calls"', 'function_call'])
      expect(last).not.toContain(word)
    expect(last).toContain('[Called write with')
    expect(last).toContain('[Result of write]')
  },
)
