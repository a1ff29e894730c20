import { Value } from '@sinclair/typebox/value'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Message } from '#contracts/run/message'
import { fakeRun } from '#test/kit/fake-run'
import { compact } from './compactor.js'
import { type CompactionMode, Config } from './config.js'
import { enter } from './moment.js'
import { applyReset } from './reset.js'
import { zoneOf } from './turns.js'

const CONFIG = Value.Default(Config, {}) as Config
const user = (content: string): Message => ({ role: 'user', content })
const system = (content: string): Message => ({ role: 'system', content })
const said = (content: string, ...ids: string[]): Message => ({
  role: 'assistant',
  content,
  ...(ids.length > 0 && { tool_calls: ids.map(id => ({ id, name: 'bash', arguments: '{}' })) }),
})
const result = (id: string, content = 'ok'): Message => ({ role: 'tool', tool_call_id: id, name: 'bash', content })

function openRun(messages: readonly Message[], summary: string | Error = 'what happened') {
  const questions: string[] = []
  const run = fakeRun({
    consult: async question => {
      questions.push(question.messages[0]?.content ?? '')
      return summary instanceof Error
        ? { kind: 'failed', failure: { category: 'other', message: summary.message } }
        : { kind: 'answered', text: summary, toolCalls: [], finish: 'stop' }
    },
  })
  run.addMessages(messages)
  enter(run, 'open')
  return { run, questions }
}

const TALK: readonly Message[] = [
  system('prefix'),
  user('first'),
  said('', 'a'),
  result('a', 'x'.repeat(400)),
  said('half way', 'b', 'c'),
  result('b', 'y'.repeat(4000)),
  user('hint'),
  result('c'),
  user('go on'),
  said('', 'd'),
  result('d'),
  said('nearly'),
]

test('turns are counted as the user speaks and as the model answers, with its results', () => {
  expect([1, 2, 3, 4, 5, 6, 7].map(keep => zoneOf(TALK, keep).to)).toEqual([11, 9, 8, 4, 2, 1, 1])
})

test('strip leaves words and takes calls with their results', async () => {
  const { run } = openRun(TALK)
  const compacted = await compact(run, { mode: 'strip', keepLast: 2 }, CONFIG)
  expect(run.transcript.map(({ role, content }) => [role, content.slice(0, 12)])).toEqual([
    ['system', 'prefix'],
    ['system', '4 messages w'],
    ['user', 'first'],
    ['assistant', 'half way'],
    ['user', 'hint'],
    ['user', 'go on'],
    ['assistant', ''],
    ['tool', 'ok'],
    ['assistant', 'nearly'],
  ])
  expect(run.transcript[1]).toMatchObject({ name: 'compact_summary', is_compact_summary: true })
  expect(compacted).toMatchObject({ kind: 'compacted', messagesRemoved: 4, turnsCompacted: 4 })
})

test('summarize puts one message in place of all', async () => {
  const { run, questions } = openRun(TALK)
  await compact(run, { mode: 'summarize', keepLast: 2, instruction: 'the port' }, CONFIG)
  expect(run.transcript).toHaveLength(5)
  expect(run.transcript[1]).toMatchObject({ role: 'system', content: expect.stringContaining('what happened') })
  expect(questions[0]).toContain('Be sure to preserve: the port')
  expect(questions[0]).toContain('half way')
})

test('hybrid keeps small results with their calls and has the large ones summarised', async () => {
  const { run, questions } = openRun(TALK)
  await compact(run, { mode: 'hybrid', keepLast: 2 }, CONFIG)
  expect(run.transcript.map(({ tool_calls: calls }) => calls?.map(({ id }) => id))).toMatchObject({
    3: ['a'],
    5: ['c'],
  })
  expect(run.transcript.flatMap(({ tool_call_id: id }) => id ?? [])).toEqual(['a', 'c', 'd'])
  expect(run.transcript[1]?.content).toContain('what happened')
  expect(questions).toHaveLength(1)
  expect(questions[0]).toContain('yyy')
  expect(questions[0]).not.toContain('xxx')
})

describe('compacted again', () => {
  const markers = (messages: readonly Message[]) => messages.filter(({ is_compact_summary: is }) => is)
  const more = (id: string): readonly Message[] => [user(`more ${id}`), said('', id), result(id, 'z'.repeat(4000))]

  test('a summary becomes part of the next one', async () => {
    const { run, questions } = openRun(TALK)
    await compact(run, { mode: 'summarize', keepLast: 1 }, CONFIG)
    run.addMessages(more('e'))
    const compacted = await compact(run, { mode: 'summarize', keepLast: 1 }, CONFIG)
    expect(run.transcript.map(({ role }) => role)).toEqual(['system', 'system', 'assistant', 'tool'])
    expect(markers(run.transcript)).toHaveLength(1)
    expect(questions[1]).toContain('what happened')
    expect(compacted).toMatchObject({ messagesRemoved: 2, turnsCompacted: 2 })
  })

  test('notes are added up, and a summary stays beside them', async () => {
    const { run } = openRun(TALK)
    await compact(run, { mode: 'strip', keepLast: 2 }, CONFIG)
    run.addMessages([...more('e'), user('last')])
    await compact(run, { mode: 'strip', keepLast: 1 }, CONFIG)
    expect(markers(run.transcript)).toMatchObject([{ content: expect.stringMatching(/^8 messages with/) }])
    const summarised = openRun(TALK).run
    await compact(summarised, { mode: 'summarize', keepLast: 1 }, CONFIG)
    summarised.addMessages([...more('e'), user('last')])
    await compact(summarised, { mode: 'strip', keepLast: 1 }, CONFIG)
    expect(markers(summarised.transcript)).toMatchObject([
      { content: expect.stringMatching(/^2 messages with[\s\S]*what happened$/) },
    ])
  })

  test('what large outputs showed before goes into what they showed', async () => {
    const { run, questions } = openRun(TALK)
    await compact(run, { mode: 'hybrid', keepLast: 2 }, CONFIG)
    run.addMessages([...more('e'), user('last')])
    await compact(run, { mode: 'hybrid', keepLast: 1 }, CONFIG)
    expect(markers(run.transcript)).toHaveLength(1)
    expect(questions[1]).toContain('what happened')
    expect(questions[1]).toContain('zzz')
  })

  test('alone it is no reason to ask anybody', async () => {
    const { run, questions } = openRun([user('first'), said('hello'), user('again')])
    await compact(run, { mode: 'summarize', keepLast: 1 }, CONFIG)
    expect(await compact(run, { mode: 'summarize', keepLast: 1 }, CONFIG)).toMatchObject({ kind: 'unchanged' })
    expect(questions).toHaveLength(1)
  })
})

test('nothing to take out changes nothing', async () => {
  for (const mode of ['strip', 'summarize', 'hybrid'] as const) {
    const { run } = openRun([user('first'), said('hello')])
    expect(await compact(run, { mode, keepLast: 4 }, CONFIG)).toMatchObject({ kind: 'unchanged' })
    expect(run.transcript).toHaveLength(2)
  }
})

test('long texts are cut between characters: half a character is no valid request', async () => {
  for (const shift of ['', 'x', 'xx', 'xxx']) {
    const long = shift + '😀'.repeat(10_000)
    const call = { id: 'a', name: 'bash', arguments: JSON.stringify({ command: long }) }
    const talk = [user(long), { ...said(long, 'a'), tool_calls: [call] }, result('a', long), said('done')]
    for (const mode of ['summarize', 'hybrid'] as const) {
      const { run, questions } = openRun(talk)
      await compact(run, { mode, keepLast: 1 }, CONFIG)
      expect(questions[0]).toContain('characters left out')
      expect(Buffer.from(questions[0] ?? '').toString()).toBe(questions[0])
    }
  }
})

test('a summary that fails leaves everything as it was', async () => {
  const { run } = openRun(TALK, new Error('model is down'))
  expect(await compact(run, { mode: 'summarize', keepLast: 2 }, CONFIG)).toEqual({
    kind: 'failed',
    error: 'model is down',
  })
  expect(run.transcript).toEqual(TALK)
})

test('what is said while the summary is written stays', async () => {
  const { run } = openRun(TALK)
  const working = compact(run, { mode: 'summarize', keepLast: 2 }, CONFIG)
  await Promise.resolve()
  run.addMessages([user('meanwhile')])
  await working
  expect(run.transcript.at(-1)).toEqual(user('meanwhile'))
  expect(run.transcript).toHaveLength(6)
})

test('a transcript that was rewritten meanwhile is left alone', async () => {
  const { run } = openRun(TALK)
  const working = compact(run, { mode: 'summarize', keepLast: 2 }, CONFIG)
  await Promise.resolve()
  run.rewriteTranscript([user('all new')])
  expect(await working).toMatchObject({ kind: 'failed' })
  expect(run.transcript).toEqual([user('all new')])
})

test('a run that settles meanwhile is left alone', async () => {
  const { run } = openRun(TALK)
  const working = compact(run, { mode: 'summarize', keepLast: 2 }, CONFIG)
  enter(run, 'closed')
  expect(await working).toEqual({ kind: 'ended' })
  expect(run.transcript).toEqual(TALK)
})

test('two compactions of a run happen one after the other', async () => {
  const { run } = openRun(TALK)
  const wish = { mode: 'summarize', keepLast: 1 } as const
  const both = await Promise.all([compact(run, wish, CONFIG), compact(run, wish, CONFIG)])
  expect(both.map(({ kind }) => kind)).toEqual(['compacted', 'unchanged'])
})

test('a reset leaves what was kept, once', () => {
  const { run } = openRun(TALK)
  run.setNote('compaction.reset', { step: 4, persist: { task: 'paint' } })
  applyReset(run)
  applyReset(run)
  expect(run.transcript).toHaveLength(1)
  expect(run.transcript[0]).toMatchObject({ role: 'user', content: expect.stringContaining('"task": "paint"') })
  expect(run.emitted).toEqual([
    { type: 'context.reset', payload: { reset_index: 0, at_step: 4, persist: { task: 'paint' } } },
  ])
})

/** Transcripts as the loop writes them: every call answered in order, but perhaps not yet those of the last turn. */
const transcripts = fc
  .array(
    fc.oneof(
      fc.record({ kind: fc.constant('user' as const), text: fc.string() }),
      fc.record({ kind: fc.constant('system' as const), text: fc.string() }),
      fc.record({
        kind: fc.constant('assistant' as const),
        text: fc.string({ maxLength: 3 }),
        results: fc.array(fc.record({ size: fc.constantFrom(1, 100, 3000), followUp: fc.boolean() }), { maxLength: 4 }),
      }),
    ),
    { maxLength: 25 },
  )
  .chain(parts => fc.record({ parts: fc.constant(parts), unanswered: fc.nat(4) }))
  .map(({ parts, unanswered }) => {
    const messages: Message[] = []
    for (const [index, part] of parts.entries()) {
      if (part.kind !== 'assistant') messages.push({ role: part.kind, content: part.text })
      else {
        const ids = part.results.map((_, at) => `c${index}.${at}`)
        messages.push(said(part.text, ...ids))
        const isLast = index === parts.length - 1
        for (const [at, { size, followUp }] of part.results.entries()) {
          if (isLast && at >= part.results.length - unanswered) break
          messages.push(result(ids[at] as string, 'z'.repeat(size)))
          if (followUp) messages.push({ role: at % 2 ? 'user' : 'system', content: 'follow', is_meta: true })
        }
      }
    }
    return messages
  })

/** Calls without a result that may come after them, and results whose call does not stand in the answer before them. */
function torn(messages: readonly Message[]): string[] {
  const open = new Set<string>()
  const wrong: string[] = []
  for (const message of messages) {
    if (message.role === 'assistant') {
      wrong.push(...open)
      open.clear()
      for (const { id } of message.tool_calls ?? []) open.add(id)
    } else if (message.role === 'tool' && !open.delete(message.tool_call_id ?? ''))
      wrong.push(message.tool_call_id ?? '')
  }
  return wrong
}
const openCalls = (messages: readonly Message[]) => {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const answered = new Set(messages.slice(last).map(message => message.tool_call_id))
  return (messages[last]?.tool_calls ?? []).filter(({ id }) => !answered.has(id))
}

test('no compaction of any transcript tears a call from its result, or touches what is being answered', async () => {
  const modes = fc.constantFrom<CompactionMode>('strip', 'summarize', 'hybrid')
  await fc.assert(
    fc.asyncProperty(
      transcripts,
      fc.array(fc.record({ mode: modes, keepLast: fc.integer({ min: 1, max: 6 }) }), { minLength: 1, maxLength: 3 }),
      async (messages, wishes) => {
        const { run } = openRun(messages)
        expect(torn(messages)).toEqual([])
        for (const wish of wishes) {
          const before = [...run.transcript]
          const { to } = zoneOf(before, wish.keepLast)
          const compacted = await compact(run, wish, CONFIG)
          expect(torn(run.transcript)).toEqual([])
          expect(openCalls(run.transcript)).toEqual(openCalls(before))
          expect(run.transcript.filter(({ is_compact_summary: is }) => is).length).toBeLessThan(2)
          // What is kept keeps its identity, so that wires need not serialise it again.
          const kept = before.slice(to)
          expect(
            kept.length === 0 || run.transcript.slice(-kept.length).every((message, index) => message === kept[index]),
          ).toBe(true)
          if (compacted.kind === 'unchanged') expect(run.transcript).toEqual(before)
        }
      },
    ),
    { numRuns: 500 },
  )
})
