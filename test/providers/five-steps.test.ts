import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { parsePicoUsd, priceOf, type Rates, toUsd } from '#contracts/run/cost'
import { createRandom } from '#test/crash/random'
import { startScriptedServer } from '#test/kit/chat-server'
import type { ScriptedTurn, ScriptedUsage } from '#test/kit/chat-wire'
import { bootWith, WIRES } from './wires.js'

const undos: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const undo of undos.splice(0).reverse()) await undo()
})

const TEXT = 'said the cat: "måne 🌙"\n\tand \\ left\u2028'

/** Uneven numbers, so that no sum of rounded prices comes out right by luck. */
const USAGE: readonly ScriptedUsage[] = [
  { prompt: 1231, completion: 17 },
  { prompt: 4567, completion: 89, cached: 1024 },
  { prompt: 7919, completion: 131, cached: 4352 },
  { prompt: 10_007, completion: 3, cached: 7808 },
  { prompt: 12_343, completion: 997, cached: 9984 },
]

const TURNS: readonly ScriptedTurn[] = [
  { text: 'A file.', toolCalls: [{ name: 'write', arguments: { path: 'src/ø/said.txt', content: TEXT } }] },
  { toolCalls: [{ name: 'edit', arguments: { path: 'src/ø/said.txt', old_text: 'måne 🌙', new_text: 'sol ☀️' } }] },
  {
    toolCalls: [
      { name: 'read', arguments: { path: 'src/ø/said.txt' } },
      { name: 'grep', arguments: { query: 'sol' } },
    ],
  },
  { text: 'And a copy.', toolCalls: [{ name: 'bash', arguments: { command: 'cp src/ø/said.txt copy.txt' } }] },
  { chunks: ['It says ', '“sol ☀️”', '.'] },
].map((turn, index) => ({ ...turn, usage: USAGE[index] as ScriptedUsage }))

test.each(WIRES.flatMap(wire => [1, 2, 3].map(seed => [wire.name, seed, wire] as const)))(
  '%s: five steps with tools, cut at random places (%i): arguments intact, usage and cost exact',
  async (_, seed, wire) => {
    const dir = await mkdtemp(join(tmpdir(), 'runwright-five-'))
    undos.push(() => rm(dir, { recursive: true, force: true }))
    const server = await startScriptedServer(wire.scripted, { turns: TURNS }, createRandom(seed))
    undos.push(() => server.close())
    const live = await bootWith([[wire, server]], { dir, isDurable: true })
    undos.push(live.stop)

    const events = await live.run({ prompt: 'Make the cat say sol.', model: wire.model })

    const of = (type: string) => events.filter(event => event.type === type).map(({ payload }) => payload)
    expect(events.at(-1)).toMatchObject({ type: 'run.completed', payload: { output: 'It says “sol ☀️”.' } })
    expect(await readFile(join(live.workspace, 'copy.txt'), 'utf8')).toBe(TEXT.replace('måne 🌙', 'sol ☀️'))
    expect(of('provider.resolved')).toMatchObject([{ provider: wire.provider, model: wire.model }])
    expect(of('tool.call.completed').map(call => [call?.tool, call?.error])).toEqual(
      ['write', 'edit', 'read', 'grep', 'bash'].map(tool => [tool, undefined]),
    )
    expect(new Set(of('tool.call.completed').map(call => call?.call_id)).size).toBe(5)
    expect(deltasOf(events, 'assistant.message.delta', 'content')).toBe('A file.And a copy.It says “sol ☀️”.')
    expect(JSON.parse(deltasOf(events, 'tool.call.delta', 'arguments', 1))).toEqual({
      path: 'src/ø/said.txt',
      content: TEXT,
    })

    const price = (usage: ScriptedUsage) => exactPrice(usage, wire.rates)
    const turnCosts = of('usage.delta').map(delta => delta?.turn_cost_usd)
    expect(turnCosts).toEqual(USAGE.map(usage => toUsd(price(usage))))
    const total = USAGE.reduce((sum, usage) => sum + price(usage), 0n)
    const [prompt, completion] = [sum(USAGE.map(each => each.prompt)), sum(USAGE.map(each => each.completion))]
    expect(events.at(-1)?.payload).toMatchObject({
      usage_totals: {
        prompt_tokens_total: prompt,
        completion_tokens_total: completion,
        total_tokens: prompt + completion,
      },
      cost_totals: { cost_usd_total: toUsd(total), cost_status: 'available' },
    })
    expect(parsePicoUsd(events.at(-1)?.payload?.cost_totals.cost_usd_total)).toBe(total)
    const summary = await live.request('GET', `/v1/runs/${events[0]?.run_id}/summary`)
    expect(summary.body).toMatchObject({
      total_prompt_tokens: prompt,
      total_completion_tokens: completion,
      total_cost_usd: toUsd(total),
      cost_status: 'available',
    })
    expect(server.calls).toHaveLength(5)
  },
)

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

const exactPrice = ({ prompt, completion, cached = 0 }: ScriptedUsage, rates: Rates): bigint =>
  priceOf(
    {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      cached_prompt_tokens: cached,
    },
    rates,
  )

function deltasOf(
  events: readonly { readonly type: string; readonly payload?: Readonly<Record<string, unknown>> }[],
  type: string,
  field: string,
  step?: number,
): string {
  return events
    .filter(event => event.type === type && (step === undefined || event.payload?.step === step))
    .map(({ payload }) => String(payload?.[field]))
    .join('')
}
