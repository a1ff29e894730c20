import { MODEL_WIRES, type ModelPart, type ModelRequest, PROVIDER_ENTRIES } from 'runwright/contracts'
import { describePlugin, openPlugin } from 'runwright/testing'
import { describe, expect, test } from 'vitest'
import { plugin } from './index.js'
import { ParrotClient } from './parrot-client.js'

describePlugin(plugin, { dir: import.meta.dirname })

const request: ModelRequest = {
  model: 'parrot-1',
  system: '',
  messages: [{ role: 'user', content: 'Polly wants  a cracker' }],
  trailing: [],
  tools: [],
  runId: 'run_1',
  conversationId: 'run_1',
  step: 1,
}

function answer(client: ParrotClient, signal: AbortSignal) {
  const parts: ModelPart[] = []
  const sink = { part: (part: ModelPart) => void parts.push(part), drained: () => undefined }
  return { parts, outcome: client.answer(request, sink, signal) }
}

describe('the parrot', () => {
  test('says back what it was told, in parts that make up the answer', async () => {
    const { parts, outcome } = answer(new ParrotClient('parrot', 0), new AbortController().signal)
    const { text } = (await outcome) as { readonly text: string }
    const said = parts.map(part => (part.kind === 'text' ? part.text : '')).join('')
    expect({ text, said, count: parts.length }).toEqual({
      text: 'Polly wants  a cracker',
      said: 'Polly wants  a cracker',
      count: 4,
    })
  })

  test('stops within a tick when the signal fires', async () => {
    const { outcome } = answer(new ParrotClient('parrot', 10_000), AbortSignal.abort())
    expect(await outcome).toEqual({ kind: 'failed', failure: { category: 'cancelled', message: 'cancelled' } })
  })

  test('brings a wire and a provider that speaks it', async () => {
    const opened = await openPlugin(plugin, { config: { word_delay_ms: 5 } })
    const [catalog] = opened.items(PROVIDER_ENTRIES)
    const [wire] = opened.items(MODEL_WIRES)
    expect(wire?.protocols).toEqual([catalog?.providers.parrot?.protocol])
    const options = { provider: 'parrot', baseUrl: '', credential: () => undefined, headers: {}, modelPrefix: '' }
    const connection = wire?.open({ ...options, traits: () => ({ api: '', quirks: new Set() }) })
    expect(connection).toMatchObject({ provider: 'parrot', wordDelayMs: 5 })
    await opened.close()
  })
})
