import { messageOf } from '#contracts/errors'
import type { PendingCall, Verdict } from '#contracts/hooks'
import type { ToolCall } from '#contracts/run/message'
import type { SandboxPolicy } from '#contracts/sandbox'
import { mayMutate, type ToolContext, type ToolDefinition, type ToolResult } from '#contracts/tool/tool'
import { checkShape } from '../schema-check.js'
import { unlessAborted } from '../waits.js'
import type { LiveRun } from './live-run.js'

type Denial = Extract<Verdict, { kind: 'deny' }>

/** What the model is told of a call; a blocked one has had its event already. */
export interface Answered {
  readonly result: ToolResult
  readonly durationMs: number
  readonly isBlocked: boolean
}

/** How long a tool may take to end after its run was interrupted. */
const STRAGGLER_MS = 5_000
/** More text than this from one tool is cut: a model could not read it, and a log should not hold it. */
const MAX_RESULT_CHARS = 512 * 1024

/** Takes one call through gating, amending, judging and asking, in that order: it is cleared, or answered already. */
export async function judgeCall(run: LiveRun, call: ToolCall): Promise<PendingCall | Answered> {
  const tool = run.tools.get(call.name)
  if (!tool) return refuse(`there is no tool ${call.name}; use one of the tools you were given`)
  const parsed = parseArguments(call.arguments)
  if (!parsed) return refuse(`the arguments of ${call.name} are not a JSON object`)
  const args = normalised(tool, parsed)
  const gated: PendingCall = { call, tool, args, step: run.step }
  const { hooks } = run
  const gate = hooks.toolGating.isUsed() ? await hooks.toolGating.promise(gated, run) : undefined
  if (gate?.kind === 'deny') return block(run, call, gate)
  const problem = checkShape(tool.parameters, args)
  if (problem) return refuse(`wrong arguments for ${call.name}: ${problem}`)
  const amended = hooks.toolAmending.isUsed()
    ? await hooks.toolAmending.promise(gated, run)
    : { ...gated, deny: undefined }
  if (amended.deny) return block(run, call, amended.deny)
  const pending: PendingCall = { call, tool, args: amended.args, step: run.step }
  const judged = hooks.toolJudging.isUsed() ? await hooks.toolJudging.promise(pending, run) : undefined
  const verdict = judged?.kind === 'ask' ? await ask(run, pending, judged) : judged
  return verdict?.kind === 'deny' ? block(run, call, verdict) : pending
}

async function ask(run: LiveRun, pending: PendingCall, question: Extract<Verdict, { kind: 'ask' }>) {
  const verdict = await run.hooks.toolAsking.promise(pending, question, run)
  return (
    verdict ?? {
      kind: 'deny' as const,
      reason: 'permission_rule_approval_unavailable',
      output: { code: 'permission_denied', message: `${question.why}, and nobody here can be asked` },
    }
  )
}

function block(run: LiveRun, call: ToolCall, denial: Denial): Answered {
  if (!denial.isQuiet)
    run.emit('tool.call.blocked', {
      call_id: call.id,
      tool: call.name,
      reason: denial.reason,
      ...(denial.skill !== undefined && { skill: denial.skill }),
    })
  return { result: { error: denial.output ?? denial.reason }, isBlocked: !denial.isQuiet, durationMs: 0 }
}

/** The answer to a call that is not executed. */
export const refuse = (error: string | Readonly<Record<string, unknown>>): Answered => ({
  result: { error },
  isBlocked: false,
  durationMs: 0,
})

/** A tool that trips over its own aliases gets the arguments as they came; the check that follows says what is wrong. */
function normalised(tool: ToolDefinition, args: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  try {
    return tool.normalise?.(args) ?? args
  } catch {
    return args
  }
}

function parseArguments(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = text.trim() === '' ? {} : JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** Runs a cleared call. A mutating one starts only after its intent is durable. */
export async function executeCall(run: LiveRun, pending: PendingCall): Promise<ToolResult> {
  const { call, tool } = pending
  if (run.hooks.toolStarting.isUsed()) await run.hooks.toolStarting.promise(pending, run)
  if (mayMutate(tool)) {
    run.intend(call.id)
    await run.durable()
  }
  run.signal.throwIfAborted()
  const work = executed(tool, pending.args, contextFor(run, pending))
  try {
    return await unlessAborted(work, run.signal)
  } catch (interrupt) {
    await Promise.race([work, new Promise(resolve => setTimeout(resolve, STRAGGLER_MS).unref())])
    throw interrupt
  }
}

/** Whatever a tool does wrong is its result: it never is the end of the run. */
async function executed(tool: ToolDefinition, args: PendingCall['args'], context: ToolContext): Promise<ToolResult> {
  try {
    const result: unknown = await tool.execute(args, context)
    if (typeof result === 'object' && result !== null && ('output' in result || 'error' in result))
      return result as ToolResult
    return { error: `${tool.name} answered nothing that can be read; this is a defect of the tool` }
  } catch (error) {
    return { error: messageOf(error) }
  }
}

function contextFor(run: LiveRun, { call, tool }: PendingCall): ToolContext {
  let index = 0
  return {
    run,
    callId: call.id,
    workspace: run.workspace,
    signal: run.signal,
    output(content) {
      run.emit('tool.output.delta', {
        step: run.step,
        call_id: call.id,
        tool: tool.name,
        stream_index: index++,
        content,
      })
      return run.drained()
    },
    sandboxPolicy: () => shapePolicy(run),
  }
}

async function shapePolicy(run: LiveRun): Promise<SandboxPolicy> {
  const admitted: SandboxPolicy = {
    scope: run.policy.sandbox,
    network: run.policy.network,
    tenantId: run.tenantId,
    hiddenPaths: [],
    ...run.workspace,
  }
  return run.hooks.sandboxShaping.isUsed() ? run.hooks.sandboxShaping.promise(admitted, run) : admitted
}

/** What the model reads of a result: text as it is, everything else as JSON; cut, visibly, when it is too long. */
export function resultText(result: ToolResult): string {
  const text = readable(result)
  if (text.length <= MAX_RESULT_CHARS) return text
  const half = MAX_RESULT_CHARS / 2
  return `${text.slice(0, half)}\n[… ${text.length - MAX_RESULT_CHARS} characters left out …]\n${text.slice(-half)}`
}

function readable(result: ToolResult): string {
  try {
    if ('error' in result) return JSON.stringify({ error: result.error })
    return typeof result.output === 'string' ? result.output : (JSON.stringify(result.output) ?? '')
  } catch (error) {
    return JSON.stringify({ error: `the result cannot be written as JSON: ${messageOf(error)}` })
  }
}
