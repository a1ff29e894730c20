import type { ToolCall } from '#contracts/run/message'
import { isParallelSafe, mayMutate } from '#contracts/tool/tool'
import type { LiveRun } from './live-run.js'
import { type Answered, executeCall, judgeCall, refuse, resultText } from './tool-call.js'

/** Note that holds the calls of the current step which were already announced, so that a restart does not do it twice. */
const ANNOUNCED = 'kernel.announced'

const UNKNOWN_OUTCOME = {
  code: 'outcome_unknown',
  message:
    'The daemon was restarted while this call ran. It may or may not have taken effect: look before you repeat it.',
}
const DUPLICATE = {
  code: 'duplicate_call_id',
  message:
    'A call with this id was already executed in this run and is not executed again. Use a new id for a new call.',
}
const NONE: ReadonlySet<string> = new Set()

/**
 * Executes the calls of one turn: parallel-safe ones that stand together run together, eight at a time, all others alone
 * and in order. Every call gets exactly one result message, in the model's order. `intended`: those a former process may
 * have executed.
 */
export async function runToolCalls(
  run: LiveRun,
  calls: readonly ToolCall[],
  intended: ReadonlySet<string> = NONE,
): Promise<void> {
  const executed = executedIds(run, calls)
  for (let index = 0; index < calls.length; ) {
    const group = nextGroup(run, calls, index)
    index += group.length
    const results = await Promise.all(group.map(call => answerCall(run, call, intended, executed)))
    for (const [at, call] of group.entries()) {
      finish(run, call, results[at] as Answered)
      executed.add(call.id)
    }
  }
}

/** Each of them may hold a process or a megabyte, and a turn may ask for hundreds. */
const MAX_SIDE_BY_SIDE = 8

/** The calls from `index` on that may run side by side: one, or a few parallel-safe ones. */
function nextGroup({ tools }: LiveRun, calls: readonly ToolCall[], index: number): readonly ToolCall[] {
  const mayJoin = (call: ToolCall | undefined): boolean => {
    const tool = call && tools.get(call.name)
    return tool !== undefined && isParallelSafe(tool) && !mayMutate(tool)
  }
  const most = Math.min(calls.length, index + MAX_SIDE_BY_SIDE)
  let end = index + 1
  if (mayJoin(calls[index])) while (end < most && mayJoin(calls[end])) end++
  return calls.slice(index, end)
}

async function answerCall(
  run: LiveRun,
  call: ToolCall,
  intended: ReadonlySet<string>,
  executed: ReadonlySet<string>,
): Promise<Answered> {
  announce(run, call)
  if (intended.has(call.id)) return refuse(UNKNOWN_OUTCOME)
  const tool = run.tools.get(call.name)
  if (tool && mayMutate(tool) && executed.has(call.id)) return refuse(DUPLICATE)
  const judged = await judgeCall(run, call)
  if ('result' in judged) return judged
  const startedAt = performance.now()
  const result = await executeCall(run, judged)
  const durationMs = Math.round(performance.now() - startedAt)
  const { toolAnswered } = run.hooks
  const amended = toolAnswered.isUsed() ? await toolAnswered.promise({ result, durationMs }, judged, run) : { result }
  return { result: amended.result, durationMs, isBlocked: false }
}

function announce(run: LiveRun, call: ToolCall): void {
  const note = run.note(ANNOUNCED) as { readonly step: number; readonly calls: readonly string[] } | undefined
  const calls = note?.step === run.step ? note.calls : []
  if (calls.includes(call.id)) return
  run.setNote(ANNOUNCED, { step: run.step, calls: [...calls, call.id] })
  run.ledger.toolCalls.push({ tool_name: call.name, step: run.step })
  run.emit('tool.call.started', { call_id: call.id, tool: call.name, arguments: call.arguments })
}

function finish(run: LiveRun, call: ToolCall, { result, durationMs, isBlocked }: Answered): void {
  const output = resultText(result)
  run.addMessages([{ role: 'tool', tool_call_id: call.id, name: call.name, content: output }])
  if (!isBlocked)
    run.emit('tool.call.completed', {
      call_id: call.id,
      tool: call.name,
      output,
      duration_ms: durationMs,
      ...('error' in result && {
        error: typeof result.error === 'string' ? result.error : JSON.stringify(result.error),
      }),
    })
  const followUps = 'followUps' in result ? (result.followUps ?? []) : []
  if (followUps.length === 0) return
  run.addMessages(followUps.map(message => ({ ...message, is_meta: true })))
  for (const message of followUps)
    run.emit('meta.message.injected', { call_id: call.id, tool: call.name, length: message.content.length })
}

/** Ids of calls this run has had answered before; an id that comes again names a call that was already made. */
function executedIds(run: LiveRun, calls: readonly ToolCall[]): Set<string> {
  const wanted = new Set(calls.map(call => call.id))
  const executed = new Set<string>()
  for (let index = run.isRewritten ? 0 : run.ownFrom; index < run.transcript.length; index++) {
    const id = run.transcript[index]?.tool_call_id
    if (id !== undefined && wanted.has(id)) executed.add(id)
  }
  return executed
}
