import { describe, expect, test } from 'vitest'
import type { ApprovalOutcome, ApprovalQuestion, Approvals } from '#contracts/approval'
import type { PendingCall } from '#contracts/hooks'
import { APPROVALS } from '#contracts/ports'
import type { RunRequest } from '#contracts/run/request'
import type { SandboxPolicy } from '#contracts/sandbox'
import type { ToolDefinition } from '#contracts/tool/tool'
import { describePlugin } from '#test/kit/describe-plugin'
import { fakeRun } from '#test/kit/fake-run'
import { openPlugin } from '#test/kit/open-plugin'
import { approachesOf } from './approaches.js'
import { judgeExit } from './exit.js'
import { gate } from './gate.js'
import { plugin } from './index.js'
import { narrow } from './narrow.js'
import { checkPlanFile, DEFAULT_PLAN_FILE, planFileOf } from './plan-file.js'
import { isPlanning, stateOf } from './plan-state.js'

const planning = (request: Partial<RunRequest> = {}) =>
  fakeRun({ request: { prompt: 'x', plan_mode: true, ...request }, workspace: { root: '/work', extraDirs: ['/more'] } })

/** Answers each question as told, and remembers it. */
function answering(...outcomes: ApprovalOutcome[]) {
  const asked: ApprovalQuestion[] = []
  const approvals: Approvals = {
    async ask(_run, question) {
      asked.push(question)
      return outcomes.shift() ?? { kind: 'timed_out' }
    },
  }
  return { approvals, asked }
}

describePlugin(plugin, { dir: import.meta.dirname, ports: [[APPROVALS, answering().approvals]] })

describe('the plan file', () => {
  test.each([
    [undefined, DEFAULT_PLAN_FILE],
    ['', DEFAULT_PLAN_FILE],
    ['/etc/plan.md', DEFAULT_PLAN_FILE],
    ['../plan.md', DEFAULT_PLAN_FILE],
    ['docs/../../plan.md', DEFAULT_PLAN_FILE],
    ['.', DEFAULT_PLAN_FILE],
    ['docs/plan.md', 'docs/plan.md'],
    ['./docs//plan.md', 'docs/plan.md'],
    ['..plan.md', '..plan.md'],
    ['.runwright/plan.md', DEFAULT_PLAN_FILE],
  ])('%j means %s', (given, expected) => {
    const request: RunRequest = { prompt: 'x', ...(given !== undefined && { plan_file: given }) }
    expect(planFileOf(request)).toBe(expected)
    expect(() => checkPlanFile(request)).not.toThrow()
  })

  test.each(['.git/config', 'sub/.git/hooks/x', '.GIT/config', '.runwright/state.db', 'docs/', 'a\nb', 'a\0'])(
    '%j is refused, naming the field',
    plan_file => {
      expect(() => checkPlanFile({ prompt: 'x', plan_file })).toThrow(/^plan_file: /)
    },
  )
})

describe('which tools may run', () => {
  const call = (tool: Partial<ToolDefinition>): PendingCall => ({
    call: { id: 'c', name: tool.name ?? '', arguments: '{}' },
    tool: { description: '', parameters: {}, execute: async () => ({ output: '' }), ...tool } as ToolDefinition,
    args: {},
    step: 1,
  })
  const writer = (...paths: string[]): PendingCall =>
    call({ name: 'edit', action: 'write', subject: () => ({ paths }) })

  test.each([
    ['a reader', call({ name: 'read', action: 'read' })],
    ['a search', call({ name: 'fetch', action: 'fetch' })],
    ['bash, which the sandbox holds', call({ name: 'bash', action: 'execute' })],
    ['a write of the plan file', writer('.runwright/plan.md')],
    ['the same by another name', writer('./.runwright//plan.md', '/work/.runwright/plan.md')],
  ])('%s may', (_, pending) => {
    expect(gate(pending, planning())).toBeUndefined()
  })

  test.each([
    ['a write elsewhere', writer('src/main.ts')],
    ['a write of the plan file and of another', writer('.runwright/plan.md', 'src/main.ts')],
    ['a way around', writer('.runwright/../.runwright/plan.md')],
    ['a file of that name elsewhere', writer('/other/.runwright/plan.md')],
    ['a writer that names no path', writer()],
    ['a writer of unknown paths', call({ name: 'commit', action: 'write' })],
    ['another executor', call({ name: 'job', action: 'execute' })],
    ['a download', call({ name: 'download', action: 'download', subject: () => ({ paths: [DEFAULT_PLAN_FILE] }) })],
    ['a reader that changes something', call({ name: 'odd', action: 'read', isMutating: true })],
  ])('%s is denied', (_, pending) => {
    expect(gate(pending, planning())).toMatchObject({
      kind: 'deny',
      output: { code: 'plan_mode_denied', tool: pending.tool.name, action: pending.tool.action, allowed: false },
    })
  })

  test('outside of plan mode nothing is denied', () => {
    expect(gate(writer('src/main.ts'), fakeRun())).toBeUndefined()
  })
})

describe('what commands and file tools may reach', () => {
  const admitted: SandboxPolicy = {
    scope: 'unrestricted',
    network: 'allow',
    root: '/work',
    extraDirs: ['/more'],
    hiddenPaths: ['/work/.runwright'],
  }

  test('while planning: a confined, read-only view without network, but for the plan file', () => {
    expect(narrow(admitted, planning(), { network: 'deny' })).toEqual({
      ...admitted,
      scope: 'workspace',
      network: 'deny',
      isReadOnly: true,
      writablePaths: [DEFAULT_PLAN_FILE],
      shownPaths: [DEFAULT_PLAN_FILE],
    })
  })

  test('a plan file of the request opens no hidden place', () => {
    expect(narrow(admitted, planning({ plan_file: 'p.md' }), { network: 'as_admitted' })).toMatchObject({
      network: 'allow',
      writablePaths: ['p.md'],
    })
    expect(narrow(admitted, planning({ plan_file: 'p.md' }), { network: 'deny' })).not.toHaveProperty('shownPaths')
  })

  test('outside of plan mode: as admitted', () => {
    expect(narrow(admitted, fakeRun(), { network: 'deny' })).toBe(admitted)
  })
})

describe('approaches', () => {
  test.each([
    ['- One — first\n- **Two** – second\n* Three: third', ['a One|first', 'b Two|second', 'c Three|third']],
    ['1. One - first\n2) Two', ['a One|first', 'b Two|undefined']],
    ['- well-known: keeps - its dash', ['a well-known|keeps - its dash']],
    ['- a\n- b\n- c\n- d', []],
    ['no list', []],
    ['- One\n## Other\n- not this', ['a One|undefined']],
  ])('%j', (list, expected) => {
    const found = approachesOf(`# Plan\n- not this\n\n## Approaches\n\n${list}\n`)
    expect(found.map(({ id, label, description }) => `${id} ${label}|${description}`)).toEqual(expected)
  })
  test('a plan without the section offers none', () => {
    expect(approachesOf('- One — first')).toEqual([])
    expect(approachesOf('## Approaches ##\n- One')).toHaveLength(1)
    const started = performance.now()
    expect(approachesOf(`## approaches${' '.repeat(100_000)}x\n- One`)).toEqual([])
    expect(performance.now() - started).toBeLessThan(1000)
  })
})

describe('leaving plan mode', () => {
  const PLAN = 'Do it.\n## Approaches\n- Fast — quick\n- Slow — careful'

  test('asks with the plan and its approaches, under an id of the step', async () => {
    const { approvals, asked } = answering({ kind: 'approved' })
    await judgeExit(PLAN, planning(), approvals, undefined)
    expect(asked.map(question => ({ ...question, arguments: JSON.parse(question.arguments) }))).toEqual([
      {
        callId: 'plan_exit_1',
        tool: 'plan_exit',
        arguments: { plan: PLAN, plan_file: DEFAULT_PLAN_FILE, options: asked[0]?.options },
        options: [
          { id: 'a', label: 'Fast', description: 'quick' },
          { id: 'b', label: 'Slow', description: 'careful' },
        ],
      },
    ])
  })

  test.each<[ApprovalOutcome, object, boolean]>([
    [{ kind: 'approved' }, { kind: 'accept', output: PLAN }, false],
    [
      { kind: 'approved', option: { id: 'b', label: 'Slow', description: 'careful' } },
      { kind: 'continue', messages: [{ role: 'user', content: expect.stringContaining('Slow (careful)') }] },
      false,
    ],
    [
      { kind: 'denied', message: 'too bold' },
      { kind: 'continue', messages: [{ role: 'user', content: expect.stringContaining('too bold') }] },
      true,
    ],
    [{ kind: 'denied' }, { kind: 'continue' }, true],
    [{ kind: 'resumed' }, { kind: 'continue' }, true],
    [{ kind: 'timed_out' }, { kind: 'failed', reason: 'approval_timeout' }, true],
    [{ kind: 'unattended' }, { kind: 'accept', output: PLAN }, true],
  ])('%j', async (outcome, verdict, stillPlans) => {
    const run = planning()
    expect(await judgeExit(PLAN, run, answering(outcome).approvals, undefined)).toMatchObject(verdict)
    expect([isPlanning(run), stateOf(run).pending]).toEqual([stillPlans, undefined])
  })

  test('once left, further answers are no plans', async () => {
    const run = planning()
    const { approvals, asked } = answering({ kind: 'approved' })
    await judgeExit(PLAN, run, approvals, undefined)
    expect(await judgeExit('done', run, approvals, undefined)).toBeUndefined()
    expect(asked).toHaveLength(1)
  })

  test('asked again in the same step, by a later process, it shows the same plan', async () => {
    const run = planning()
    const stop = new Error('stopped')
    await expect(judgeExit(PLAN, run, { ask: async () => Promise.reject(stop) }, undefined)).rejects.toBe(stop)
    expect(stateOf(run).mode).toBe('exit_pending')
    const { approvals, asked } = answering({ kind: 'approved' })
    await judgeExit('another text', run, approvals, undefined)
    expect(JSON.parse(asked[0]?.arguments ?? '').plan).toBe(PLAN)
  })
})

test('without somebody to approve, plan_mode is refused and everything else goes on', async () => {
  const alone = await openPlugin(plugin)
  const admission = { request: { prompt: 'x' }, policy: {}, identity: {} } as never
  expect(await alone.hooks.runAdmitting.promise(admission)).toBe(admission)
  await expect(
    alone.hooks.runAdmitting.promise({ request: { prompt: 'x', plan_mode: true } } as never),
  ).rejects.toMatchObject({ code: 'not_implemented', details: { field: 'plan_mode' } })
  await alone.close()
})
