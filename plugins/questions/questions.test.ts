import { afterEach, describe, expect, test } from 'vitest'
import type { CheckpointDraft, Checkpoints } from '#contracts/checkpoint'
import { CHECKPOINTS, RUN_STORE, RUNS } from '#contracts/ports'
import type { Waiting, WaitOutcome } from '#contracts/run/active-run'
import { type Booted, boot } from '#test/kit/boot'
import { describePlugin } from '#test/kit/describe-plugin'
import { fakeRun } from '#test/kit/fake-run'
import { openPlugin } from '#test/kit/open-plugin'
import { problemWith } from './answers.js'
import { plugin } from './index.js'
import { problemOf, type Question } from './question.js'

describePlugin(plugin, {
  dir: import.meta.dirname,
  ports: [
    [RUNS, {}],
    [RUN_STORE, { now: Date.now }],
  ],
})

const option = (label: string) => ({ label, description: `takes ${label}` })
const COLOUR: Question = { question: 'Which colour?', header: 'Colour', options: [option('red'), option('blue')] }
const PARTS: Question = {
  question: 'Which parts?',
  header: 'Parts',
  options: [option('api'), option('web'), option('web, admin')],
  multiSelect: true,
}
const ANSWERS = { 'Which colour?': 'blue', 'Which parts?': 'api, web' }
const ask = (questions: readonly unknown[] = [COLOUR, PARTS], id = 'ask-1') => ({
  tool_calls: [{ id, name: 'AskUserQuestion', arguments: { questions } }],
})

describe('with checkpoints', () => {
  const undo: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const step of undo.splice(0)) await step()
  })
  const open = async (outcome: WaitOutcome, checkpoints: Partial<Checkpoints> = {}) => {
    const settled: unknown[] = []
    const drafts: CheckpointDraft[] = []
    const opened = await openPlugin(plugin, {
      ports: [
        [RUNS, {}],
        [RUN_STORE, { now: () => 1_000 }],
        [
          CHECKPOINTS,
          {
            open: async (_: string, draft: CheckpointDraft) => {
              drafts.push(draft)
              return { ...draft, id: 'checkpoint_1', deadline_at: DEADLINE }
            },
            settle: async (...args: unknown[]) => settled.push(args),
            ...checkpoints,
          },
        ],
      ],
    })
    const waits: Waiting[] = []
    const run = fakeRun({
      wait: async waiting => {
        waits.push(waiting)
        waiting.announce?.()
        waiting.conclude?.(outcome)
        return outcome
      },
    })
    const call = () => opened.call('AskUserQuestion', { questions: [COLOUR] }, { run, callId: 'c' })
    const result = await call()
    /** What a process does that finds the run with this call unanswered. */
    const resume = async () => {
      settled.splice(0)
      return call()
    }
    undo.push(() => opened.close())
    return { result, settled, waits, run, drafts, resume }
  }
  const DEADLINE = new Date(9_000).toISOString()
  const letter = (body: unknown): WaitOutcome => ({ kind: 'answered', letter: { id: '1', kind: 'answer', body } })

  test('a question waits for the letter its checkpoint sends, until the checkpoint’s own deadline, and settles it', async () => {
    const { result, settled, waits, run, drafts } = await open(letter({ answers: { 'Which colour?': 'red' } }))
    expect(waits).toMatchObject([{ status: 'waiting_for_user', kind: 'answer', key: 'answer:1:c', deadlineAt: 9_000 }])
    expect(drafts).toMatchObject([{ kind: 'user_input', call_id: 'c', letter: { kind: 'answer', key: 'answer:1:c' } }])
    expect(run.emitted[0]?.payload.deadline_at).toBe(DEADLINE)
    expect(result).toEqual({ output: { questions: [COLOUR], answers: { 'Which colour?': 'red' } } })
    expect(settled).toEqual([
      ['default', 'checkpoint_1', 'resumed', JSON.stringify({ answers: { 'Which colour?': 'red' } })],
    ])
  })

  test('of a resumed checkpoint only texts for questions that were asked reach the model', async () => {
    const { result } = await open(letter({ answers: { 'Which colour?': 'teal', other: 'x', more: 3 } }))
    expect(result).toMatchObject({ output: { answers: { 'Which colour?': 'teal' } } })
    expect((await open(letter(null))).result).toMatchObject({ output: { answers: {} } })
  })

  test('an answer whose process ended before the checkpoint showed it is shown by the next one', async () => {
    const answers = { 'Which colour?': 'red' }
    const { result, settled, resume, waits } = await open(letter({ answers }))
    expect(await resume()).toEqual(result)
    expect(waits).toHaveLength(1)
    expect(settled).toEqual([['default', 'checkpoint_1', 'resumed', JSON.stringify({ answers })]])
  })

  test('a resumed checkpoint keeps the payload it was resumed with, whoever shows it first', async () => {
    const payload = { 'Which colour?': 'red', odd: 1 }
    const { settled } = await open(letter({ answers: { 'Which colour?': 'red' }, payload }))
    expect(settled).toEqual([['default', 'checkpoint_1', 'resumed', JSON.stringify(payload)]])
  })

  test('a time-out expires the checkpoint', async () => {
    expect((await open({ kind: 'timed_out' })).settled).toEqual([['default', 'checkpoint_1', 'expired', undefined]])
  })

  test('checkpoints that cannot be written do not stop the question', async () => {
    const broken = async () => {
      throw new Error('disk full')
    }
    const { result, waits } = await open(letter({ answers: { 'Which colour?': 'red' } }), {
      open: broken,
      settle: broken,
    })
    expect(result).toMatchObject({ output: { answers: { 'Which colour?': 'red' } } })
    expect(waits[0]?.deadlineAt).toBe(301_000)
  })
})

test.each([
  ['one label for each single choice', ANSWERS, undefined],
  ['several labels, with commas of their own', { ...ANSWERS, 'Which parts?': 'web, admin,api' }, undefined],
  ['no answer to a question', { 'Which colour?': 'red' }, 'answers["Which parts?"]: is missing'],
  ['a question nobody asked', { ...ANSWERS, 'Who?': 'me' }, '"Who?" is no question'],
  [
    'a label that is none',
    { ...ANSWERS, 'Which colour?': 'green' },
    'answers["Which colour?"]: must be one of "red", "blue"',
  ],
  [
    'two labels for a single choice',
    { ...ANSWERS, 'Which colour?': 'red, blue' },
    'answers["Which colour?"]: must be one of',
  ],
  ['nothing chosen', { ...ANSWERS, 'Which parts?': '' }, 'answers["Which parts?"]: must be one or more of'],
  ['the same twice', { ...ANSWERS, 'Which parts?': 'api,api' }, 'answers["Which parts?"]: names an option twice'],
  ['an inherited name', Object.create({ 'Which colour?': 'red' }), 'answers["Which colour?"]: is missing'],
])('answers with %s', (_, answers, problem) => {
  const found = problemWith(answers, [COLOUR, PARTS])
  if (problem === undefined) expect(found).toBeUndefined()
  else expect(found).toContain(problem)
})

test('hostile commas are cut in no time', () => {
  const before = process.cpuUsage()
  expect(problemWith({ 'Which parts?': 'web,'.repeat(200_000) }, [PARTS])).toContain('must be one or more of')
  expect(process.cpuUsage(before).user).toBeLessThan(500_000)
})

test.each([
  ['a blank header', [{ ...COLOUR, header: ' ' }], 'questions[0].header: must say something'],
  ['the same question twice', [COLOUR, COLOUR], 'is asked twice'],
  ['the same label twice', [{ ...COLOUR, options: [option('red'), option(' red')] }], 'two options labelled "red"'],
])('a question with %s is told to the model', (_, questions, problem) => {
  expect(problemOf(questions)).toContain(problem)
})

describe('over HTTP', () => {
  let booted: Booted
  afterEach(() => booted.stop())
  const input = (id: string, body?: unknown) =>
    booted.request(body === undefined ? 'GET' : 'POST', `/v1/runs/${id}/input`, body)
  async function asked(request: object = {}, turns: readonly object[] = [ask(), { content: 'thanks' }], options = {}) {
    booted = await boot({ turns: turns as never, ...options })
    const id = await booted.start({ prompt: 'go', ...request })
    return id
  }

  test('a question waits, is shown, is answered once, and the run goes on with the answers', async () => {
    const id = await asked()
    const event = await booted.until(id, 'run.waiting_for_user')
    const shown = await input(id)
    expect([shown.status, shown.body]).toEqual([
      200,
      {
        run_id: id,
        call_id: 'ask-1',
        tool: 'AskUserQuestion',
        questions: event.payload?.questions,
        deadline_at: expect.any(String),
      },
    ])
    expect(event.payload).toMatchObject({
      call_id: 'ask-1',
      tool: 'AskUserQuestion',
      questions: [{ ...COLOUR, multiSelect: false }, PARTS],
      deadline_at: shown.body.deadline_at,
    })
    const checkpoint = (await booted.request('GET', `/v1/runs/${id}/checkpoint`)).body
    expect(JSON.parse(checkpoint.questions)).toEqual(shown.body.questions)
    expect(Date.parse(shown.body.deadline_at) - Date.parse(event.timestamp)).toBeGreaterThan(290_000)
    const replies = await Promise.all(Array.from({ length: 8 }, () => input(id, { answers: ANSWERS })))
    expect(replies.filter(({ status }) => status === 202).map(({ body }) => body)).toEqual([{ status: 'accepted' }])
    expect(replies.filter(({ status }) => status !== 202).map(({ body }) => body.error.code)).toEqual(
      Array.from({ length: 7 }, () => 'no_pending_input'),
    )
    expect((await input(id)).body.error.code).toBe('no_pending_input')
    const events = await booted.events(id)
    expect(events.filter(({ type }) => type === 'run.resumed').map(({ payload }) => payload)).toEqual([
      expect.objectContaining({ call_id: 'ask-1', tool: 'AskUserQuestion', answered_at: expect.any(String) }),
    ])
    const result = events.find(({ type }) => type === 'tool.call.completed')
    expect(JSON.parse(result?.payload?.output)).toEqual({ questions: [COLOUR, PARTS], answers: ANSWERS })
    expect(events.at(-1)).toMatchObject({ type: 'run.completed', payload: { output: 'thanks' } })
  })

  test.each([
    [{}, 'answers'],
    [{ answers: null }, 'answers'],
    [{ answers: ['red'] }, 'answers'],
    [{ answers: { ...ANSWERS, 'Which colour?': 3 } }, 'Which colour?'],
    [{ answers: { 'Which colour?': 'red' } }, 'Which parts?'],
    [{ answers: { ...ANSWERS, 'Which colour?': 'green' } }, 'Which colour?'],
    ['{', 'JSON'],
  ])('%j is refused, and the question still waits', async (body, named) => {
    const id = await asked()
    await booted.until(id, 'run.waiting_for_user')
    const reply = await input(id, body)
    expect(reply.status).toBe(400)
    expect(reply.body.error.message).toContain(named)
    expect((await input(id)).status).toBe(200)
  })

  test('there is nothing to answer before, after, and in a run nobody knows', async () => {
    const id = await asked({}, [{ content: 'done' }])
    await booted.events(id)
    const replies = [
      await input(id),
      await input(id, { answers: {} }),
      await input('run_x'),
      await input('run_x', { answers: {} }),
    ]
    expect(replies.map(({ status, body }) => [status, body.error.code])).toEqual([
      [409, 'no_pending_input'],
      [409, 'no_pending_input'],
      [404, 'not_found'],
      [404, 'not_found'],
    ])
    expect(replies[0]?.body.error.message).toBe(`run ${id} does not wait for an answer: it is completed`)
  })

  test('wrong questions are told to the model, and the run goes on', async () => {
    const wrong = [
      [],
      [COLOUR, COLOUR, COLOUR, COLOUR, COLOUR],
      [COLOUR, COLOUR],
      [{ ...COLOUR, options: [option('a')] }],
    ]
    const id = await asked({}, [...wrong.map((each, index) => ask(each, `c${index}`)), { content: 'never mind' }])
    const events = await booted.events(id)
    expect(events.filter(({ payload }) => payload?.error).map(({ payload }) => payload?.error)).toEqual([
      expect.stringContaining('questions'),
      expect.stringContaining('questions'),
      expect.stringContaining('asked twice'),
      expect.stringContaining('questions[0].options'),
    ])
    expect(events.some(({ type }) => type === 'run.waiting_for_user')).toBe(false)
    expect(events.at(-1)?.payload?.output).toBe('never mind')
  })

  test('a question nobody answers in time fails the run, and no other call of the turn starts', async () => {
    const both = {
      tool_calls: [...ask().tool_calls, { id: 'w', name: 'write', arguments: { path: 'a', content: 'b' } }],
    }
    const id = await asked({}, [both, { content: 'never' }], { settings: { ask_user_timeout_seconds: 0.2 } })
    const events = await booted.events(id)
    expect(events.at(-1)).toMatchObject({
      type: 'run.failed',
      payload: {
        error: expect.stringContaining('nobody answered the question within 0.2 seconds'),
        reason: 'ask_user_timeout',
      },
    })
    expect(
      events.filter(({ type }) => type.startsWith('tool.call')).map(({ type, payload }) => [type, payload?.call_id]),
    ).toEqual(
      expect.arrayContaining([
        ['tool.call.completed', 'ask-1'],
        ['tool.call.blocked', 'w'],
      ]),
    )
    expect(events.some(({ type, payload }) => type === 'tool.call.completed' && payload?.call_id === 'w')).toBe(false)
    expect((await input(id)).body.error.code).toBe('no_pending_input')
  })

  test('with unattended deny the model is told that nobody is there; with fail the run fails', async () => {
    const denied = await asked({ permissions: { unattended: 'deny' } }, [
      ask(),
      { content: 'took red' },
      ask(),
      { content: 'x' },
    ])
    const events = await booted.events(denied)
    expect(events.find(({ payload }) => payload?.error)?.payload?.error).toContain('nobody_there')
    expect(events.at(-1)?.payload?.output).toBe('took red')
    const failed = await booted.run({ prompt: 'go', permissions: { unattended: 'fail' } })
    expect(failed.at(-1)).toMatchObject({ type: 'run.failed', payload: { reason: 'unattended_question' } })
    expect([...events, ...failed].some(({ type }) => type === 'run.waiting_for_user')).toBe(false)
  })

  test('a call id that comes again in a later turn is a new question', async () => {
    const id = await asked({}, [ask([COLOUR]), ask([COLOUR]), { content: 'done' }])
    for (const label of ['red', 'blue']) {
      await expect.poll(async () => (await input(id)).status).toBe(200)
      expect((await input(id, { answers: { 'Which colour?': label } })).status).toBe(202)
    }
    const results = (await booted.events(id)).filter(({ type }) => type === 'tool.call.completed')
    expect(results.map(({ payload }) => JSON.parse(payload?.output).answers)).toEqual([
      { 'Which colour?': 'red' },
      { 'Which colour?': 'blue' },
    ])
  })

  test('the checkpoint of a question answers it', async () => {
    const id = await asked()
    await booted.until(id, 'run.waiting_for_user')
    const { body: checkpoint } = await booted.request('GET', `/v1/runs/${id}/checkpoint`)
    expect(checkpoint).toMatchObject({
      kind: 'user_input',
      status: 'pending',
      call_id: 'ask-1',
      tool: 'AskUserQuestion',
    })
    expect(JSON.parse(checkpoint.questions)).toEqual([{ ...COLOUR, multiSelect: false }, PARTS])
    expect(checkpoint.deadline_at).toBe((await input(id)).body.deadline_at)
    const path = `/v1/checkpoints/${checkpoint.id}`
    expect((await booted.request('POST', `${path}/resume`, { payload: ANSWERS })).body).toEqual({ status: 'resumed' })
    expect((await input(id, { answers: ANSWERS })).body.error.code).toBe('no_pending_input')
    const events = await booted.events(id)
    const result = events.find(({ type }) => type === 'tool.call.completed')
    expect(JSON.parse(result?.payload?.output).answers).toEqual(ANSWERS)
    expect((await booted.request('GET', path)).body.status).toBe('resumed')
  })

  test('a cancelled run’s checkpoint expires', async () => {
    const id = await asked()
    await booted.until(id, 'run.waiting_for_user')
    const { body: checkpoint } = await booted.request('GET', `/v1/runs/${id}/checkpoint`)
    await booted.request('POST', `/v1/runs/${id}/cancel`)
    await booted.events(id)
    expect((await booted.request('GET', `/v1/checkpoints/${checkpoint.id}`)).body.status).toBe('expired')
  })

  test('a waiting run is cancelled at once, and cannot be answered then', async () => {
    const id = await asked()
    await booted.until(id, 'run.waiting_for_user')
    expect((await booted.request('POST', `/v1/runs/${id}/cancel`)).body).toEqual({ status: 'cancelling' })
    expect((await booted.events(id)).at(-1)?.type).toBe('run.cancelled')
    expect((await input(id, { answers: ANSWERS })).body.error.code).toBe('no_pending_input')
  })
})
