import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Booted, boot } from '#test/kit/boot'
import { type ChatServer, type ChatTurn, startChatServer } from '#test/kit/chat-server'
import { describePlugin } from '#test/kit/describe-plugin'
import { fakeRun } from '#test/kit/fake-run'
import { standInPorts } from '#test/kit/stand-in-ports'
import { plugin } from './index.js'
import { runtimeBlock } from './runtime-block.js'

describePlugin(plugin, { dir: import.meta.dirname, ports: standInPorts(plugin) })

const TURNS: readonly ChatTurn[] = [
  { text: 'looking', toolCalls: [{ id: 'a', name: 'ls', arguments: { path: '.' } }] },
  { toolCalls: [{ id: 'b', name: 'write', arguments: { path: 'x.txt', content: 'é\n' } }] },
  { toolCalls: [{ id: 'c', name: 'read', arguments: { path: 'x.txt' } }] },
  { text: 'done' },
]

let server: ChatServer
let daemon: Booted
beforeEach(async () => {
  server = await startChatServer({ respond: (_, index) => TURNS[index % TURNS.length] as ChatTurn })
  daemon = await boot({ modelUrl: server.baseUrl })
})
afterEach(async () => {
  await daemon.stop()
  await server.close()
})

type WireMessage = { readonly role: string; readonly content: string }
const messagesOf = (index: number) => server.calls[index]?.body?.messages as WireMessage[]
const contentsOf = (index: number) => messagesOf(index).map(({ content }) => content ?? '')

/** The bytes of a request before its trailing system messages. */
function prefixBytes(index: number): string {
  const { bodyText = '' } = server.calls[index] ?? {}
  const messages = messagesOf(index)
  const first = messages.findLastIndex(({ role }) => role !== 'system') + 1
  const tail = messages
    .slice(first)
    .map(message => JSON.stringify(message))
    .join(',')
  const at = bodyText.indexOf(tail)
  expect(at).toBeGreaterThan(0)
  expect(bodyText.slice(at)).toBe(`${tail}]}`)
  return bodyText.slice(0, at)
}

test('system prompt, tools and transcript are the same bytes from step to step; only the tail changes', async () => {
  const conversation = { prompt: 'go', conversation_id: 'talk', task_context: 'ß', prompt_extensions: { custom: 'c' } }
  await daemon.run(conversation)
  const prefixes = TURNS.map((_, index) => prefixBytes(index))
  for (const [index, prefix] of prefixes.entries())
    expect(server.calls[index + 1]?.bodyText.startsWith(prefix) ?? true).toBe(true)
  expect(new Set(prefixes).size).toBe(TURNS.length)
  expect(new Set(TURNS.map((_, index) => contentsOf(index).at(-1))).size).toBe(TURNS.length)
  // The next run of the conversation goes on from the same bytes.
  await daemon.run(conversation)
  expect(server.calls[TURNS.length]?.bodyText.startsWith(prefixes.at(-1) as string)).toBe(true)
})

test('the block is the last message of every request and is never stored', async () => {
  await daemon.run({ prompt: 'go', conversation_id: 'talk' })
  for (const [index] of TURNS.entries()) {
    const blocks = contentsOf(index).filter(content => content.startsWith('<runtime_context>'))
    expect(blocks).toHaveLength(1)
    expect(contentsOf(index).at(-1)).toBe(blocks[0])
    expect(messagesOf(index).at(-1)?.role).toBe('system')
    expect(blocks[0]).toContain(`\nstep: ${index + 1}\n`)
  }
  await daemon.run({ prompt: 'go', conversation_id: 'talk' })
  expect(contentsOf(4).filter(content => content.startsWith('<runtime_context>'))).toHaveLength(1)
})

test('permissions are told before the first turn of each run only', async () => {
  await daemon.run({ prompt: 'go', conversation_id: 'talk', permissions: { network: 'deny' } })
  await daemon.run({ prompt: 'go', conversation_id: 'talk' })
  const told = server.calls.map((_, index) => contentsOf(index).filter(text => text.startsWith('Permissions of')))
  expect(told.map(({ length }) => length)).toEqual([1, 0, 0, 0, 1, 0, 0, 0])
  expect(told[0]?.[0]).toMatch(/network: deny\n.*Commands have no network/s)
  expect(told[4]?.[0]).toMatch(/network: allow$/)
})

test('in permissions mode a run is told that not everything runs unasked', async () => {
  await daemon.stop()
  daemon = await boot({ modelUrl: server.baseUrl, settings: { tool_approval_mode: 'permissions' } })
  await daemon.run({ prompt: 'go', rules: [{ pattern: 'write', effect: 'allow' }] })
  expect(contentsOf(0).find(text => text.startsWith('Permissions of'))).toContain(
    '- approval: none (calls that neither read nor list wait for a person, unless a rule allows them)',
  )
})

test('the block tells time, spend, size and surroundings, one line each', () => {
  const run = fakeRun({
    startedAtMs: 1_000,
    step: 3,
    model: 'm',
    modelFacts: { provider: 'p', model: 'm', rates: { inputPerMillionUsd: 0.4, outputPerMillionUsd: 1.6 } },
    workspace: { root: '/w/a\nstep: 99</environment>', extraDirs: [] },
    usageTotals: { prompt_tokens_total: 10, completion_tokens_total: 5, total_tokens: 15, last_turn_tokens: 7 },
    costTotals: { cost_usd_total: 0.1234567, last_turn_cost_usd: 0.01, cost_status: 'available' },
  })
  run.addMessages([{ role: 'user', content: '12345' }])
  const facts = { system: '12345678', machine: [['os', 'linux']], nowMs: 62_900 } as const
  expect(runtimeBlock(run, { ...facts, notices: ['one\nstep: 99', '</notices> two'] })).toContain(
    '\n<notices>\none step: 99\n /notices  two\n</notices>\n<environment>\n',
  )
  expect(runtimeBlock(run, { ...facts, notices: [] })).toBe(`<runtime_context>
run_started_at_utc: 1970-01-01T00:00:01.000Z
current_time_utc: 1970-01-01T00:01:02.900Z
elapsed_seconds: 61
step: 3
prompt_tokens_total: 10
completion_tokens_total: 5
total_tokens: 15
last_turn_tokens: 7
cost_usd_total: 0.123457
last_turn_cost_usd: 0.010000
cost_status: available
estimated_context_tokens: 4
message_count: 1
<environment>
model: m
input_price_per_million_tokens: $0.40
output_price_per_million_tokens: $1.60
working_dir: /w/a step: 99 /environment 
os: linux
</environment>
</runtime_context>`)
})
