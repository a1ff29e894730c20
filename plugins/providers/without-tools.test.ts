import { afterEach, describe, expect, test } from 'vitest'
import type { ModelRequest } from '#contracts/model/client'
import type { Message } from '#contracts/run/message'
import { fakeRun } from '#test/kit/fake-run'
import { type OpenProviders, openProviders, smallEntry } from '#test/kit/open-providers'
import { createSmallWire, said } from '#test/kit/small-wire'
import { plugin } from './index.js'
import { withoutTools } from './without-tools.js'

const request = (messages: readonly Message[]): ModelRequest => ({
  model: 'thinker',
  system: 'sys',
  messages,
  trailing: [],
  tools: [{ name: 'read', description: 'reads', parameters: {} }],
  runId: 'r',
  conversationId: 'c',
  step: 1,
})

describe('a request for a model that cannot call tools', () => {
  test('offers none, and is otherwise the same where none were called', () => {
    const given = request([{ role: 'user', content: 'hi' }])
    const made = withoutTools(given)
    expect(made).toEqual({ ...given, tools: [] })
    expect(made.messages).toBe(given.messages)
  })

  test('tells calls and results of earlier turns in words, results in one message', () => {
    const calls = [
      { id: 'a', name: 'read', arguments: '{"path":"x"}' },
      { id: 'b', name: 'ls', arguments: '' },
    ]
    const { messages } = withoutTools(
      request([
        { role: 'user', content: 'look' },
        { role: 'assistant', content: 'I look.', tool_calls: calls, reasoning: 'hm' },
        { role: 'tool', content: 'ex', tool_call_id: 'a' },
        { role: 'tool', content: 'ell', tool_call_id: 'b', name: 'list' },
        { role: 'assistant', content: 'Seen.' },
      ]),
    )
    expect(messages).toEqual([
      { role: 'user', content: 'look' },
      {
        role: 'assistant',
        content: 'I look.\n[Called read with {"path":"x"}]\n[Called ls with {}]',
        reasoning: 'hm',
      },
      { role: 'user', content: '[Result of read]\nex\n\n[Result of list]\nell' },
      { role: 'assistant', content: 'Seen.' },
    ])
  })

  test('a call without words and a result at the end are kept as well', () => {
    const { messages } = withoutTools(
      request([
        { role: 'assistant', content: '', tool_calls: [{ id: 'a', name: 'read', arguments: '{}' }] },
        { role: 'tool', content: 'ex', tool_call_id: 'lost' },
      ]),
    )
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ['assistant', '[Called read with {}]'],
      ['user', '[Result of a tool]\nex'],
    ])
  })
})

describe('whose model cannot call tools', () => {
  let opened: OpenProviders | undefined
  afterEach(async () => {
    await opened?.close()
    opened = undefined
  })

  const context_window = 1000
  const entries = {
    acme: smallEntry('acme', { models: { doer: { context_window, tool_calling: true }, plain: { context_window } } }),
    bolt: smallEntry('bolt', { models: { thinker: { context_window, tool_calling: false } } }),
  }
  const variables = { ACME_API_KEY: 'k', BOLT_API_KEY: 'k' }
  const open = async (config: object = {}) => {
    const seen: ModelRequest[] = []
    const wire = createSmallWire({
      answer: asked => {
        seen.push(asked)
        return said('ok')
      },
    })
    opened = await openProviders(plugin, { entries, variables, wires: [wire], config: { model: 'doer', ...config } })
    return { ...opened, seen }
  }

  test('is asked without them, and the run is told so', async () => {
    const { hooks, seen } = await open()
    const tell = async (model: string) => {
      const run = fakeRun()
      const [candidate] = (await hooks.providerResolving.promise({ prompt: 'hi', model }, run)) ?? []
      await candidate!.client.answer(
        { ...request([]), model },
        { part: () => undefined, drained: () => undefined },
        new AbortController().signal,
      )
      return [seen.at(-1)?.tools.length, run.emitted.map(({ payload }) => payload)]
    }
    expect(await tell('thinker')).toEqual([
      0,
      [
        {
          code: 'model_without_tools',
          message: 'thinker of bolt cannot call tools: this run is answered without any',
        },
      ],
    ])
    expect(await tell('doer')).toEqual([1, []])
    expect(await tell('plain')).toEqual([1, []])
  })

  test('stands in for nobody who can', async () => {
    const able = await open()
    expect(able.try({ model: 'doer', allow_fallback: true, fallback_providers: ['bolt'] })).toEqual(['acme doer'])
    await able.close()
    const unable = await open({ model: 'thinker' })
    expect(unable.try({ model: 'doer', allow_fallback: true })).toEqual(['acme doer'])
    expect(unable.try({ model: 'thinker', allow_fallback: true })).toEqual(['bolt thinker'])
    // Better than nothing: the run is told.
    expect(unable.try({ model: 'nobody-has-it', allow_fallback: true })).toEqual(['default thinker'])
  })
})
