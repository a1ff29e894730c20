import { describe, expect, test } from 'vitest'
import type { PricedTurn } from '#contracts/hooks'
import type { ActiveRun } from '#contracts/run/active-run'
import { describePlugin } from '#test/kit/describe-plugin'
import { fakeRun } from '#test/kit/fake-run'
import { costLimit, pressure, spentSteps } from './budgets.js'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname })

const NO_LIMITS = { max_steps: 0, max_cost_usd: 0 }
const runAt = (progress: Partial<ActiveRun>, request: object = {}) =>
  fakeRun({ ...progress, request: { prompt: 'hi', ...request } })

describe('steps and turns', () => {
  test.each([
    ['no limit at all', {}, NO_LIMITS, 1000, undefined],
    ['below the limit of the request', { max_steps: 3 }, NO_LIMITS, 2, undefined],
    ['at the limit of the request', { max_steps: 3 }, NO_LIMITS, 3, 'max_steps_reached'],
    ['at the limit of the deployment', {}, { ...NO_LIMITS, max_steps: 5 }, 5, 'max_steps_reached'],
    [
      'a request cannot go beyond the deployment',
      { max_steps: 9 },
      { ...NO_LIMITS, max_steps: 5 },
      5,
      'max_steps_reached',
    ],
    [
      'a request may be stricter than the deployment',
      { max_steps: 3 },
      { ...NO_LIMITS, max_steps: 5 },
      3,
      'max_steps_reached',
    ],
    [
      '0 in the request leaves the deployment its limit',
      { max_steps: 0 },
      { ...NO_LIMITS, max_steps: 5 },
      5,
      'max_steps_reached',
    ],
  ])('%s', (_, request, config, step, reason) => {
    const ending = spentSteps(runAt({ step }, request), config)
    expect(ending && 'reason' in ending ? ending.reason : undefined).toBe(reason)
  })

  test('the last turn is announced and ends the run with the limit it met', () => {
    const run = runAt({ step: 2, turns: 2 }, { max_turns: 2 })
    expect(spentSteps(run, NO_LIMITS)).toEqual({
      kind: 'failed',
      error: 'max turns (2) reached',
      reason: 'max_turns_exhausted',
      facts: { max_turns: 2 },
    })
    expect(run.emitted).toEqual([
      { type: 'max_turns.exhausted', payload: { run_id: run.id, step: 2, turn_count: 2, max_turns: 2 } },
    ])
  })
})

describe('pressure', () => {
  const warned = (step: number, request: object) => {
    const run = runAt({ step }, request)
    pressure(run, NO_LIMITS)
    return { remaining: run.emitted.map(({ payload }) => payload.steps_remaining), said: run.transcript }
  }

  test('is told three steps before the end and at the last one, to the model and out of sight', () => {
    const told = [1, 2, 3, 4, 5].map(step => warned(step, { max_steps: 5 }).remaining)
    expect(told).toEqual([[], [], [3], [], [1]])
    expect(warned(5, { max_steps: 5 }).said).toMatchObject([
      { role: 'user', is_meta: true, content: expect.stringMatching(/^This is your last step\. Finish/) },
    ])
  })

  test('goes by the nearer of both limits, and says nothing without one', () => {
    expect(warned(2, { max_steps: 9, max_turns: 4 }).remaining).toEqual([3])
    expect(warned(2, {})).toEqual({ remaining: [], said: [] })
  })

  test('a child is told to report to its parent', () => {
    const { said } = warned(1, { max_steps: 3, parent_context_handoff: { parent_run_id: 'run_0' } })
    expect(said[0]?.content).toContain('Report to your parent')
  })
})

describe('cost', () => {
  const judge = (spent: number, ceiling: number, costStatus: PricedTurn['costStatus'] = 'available') => {
    const run = runAt(
      { step: 4, costTotals: { cost_usd_total: spent, last_turn_cost_usd: 0, cost_status: costStatus } },
      { max_cost_usd: ceiling },
    )
    const turn = { costStatus, answer: { text: 'so far' } } as PricedTurn
    return { ending: costLimit(turn, run, NO_LIMITS), emitted: run.emitted }
  }

  test('a run that has spent its ceiling ends as completed with what it has said', () => {
    expect(judge(0.5, 0.5)).toEqual({
      ending: { kind: 'completed', output: 'so far' },
      emitted: [{ type: 'run.cost_limit_reached', payload: { step: 4, max_cost_usd: 0.5, cumulative_cost_usd: 0.5 } }],
    })
  })

  test.each([
    ['below the ceiling', 0.49, 0.5, 'available'],
    ['no ceiling', 9, 0, 'available'],
    ['a price nobody knows', 9, 0.5, 'unpriced_model'],
  ] as const)('%s ends nothing', (_, spent, ceiling, status) => {
    expect(judge(spent, ceiling, status)).toEqual({ ending: undefined, emitted: [] })
  })
})
