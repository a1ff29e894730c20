import { Failure } from '#contracts/errors'
import type { ActiveRun } from '#contracts/run/active-run'
import type { DynamicRule } from '#contracts/run/request'

const MAX_CONTENT_BYTES = 64 * 1024
const FIRED = 'dynamic-rules.fired'

/** Rules that fire once, with the step they fired in: asked again after a restart, that step shows them again. */
type Fired = Readonly<Record<string, number>>

/** The shape was checked already; what is left is the size in bytes. */
export function checkRules(rules: readonly DynamicRule[]): void {
  for (const [index, { content = '' }] of rules.entries())
    if (Buffer.byteLength(content) > MAX_CONTENT_BYTES)
      throw new Failure(
        'invalid_request',
        `dynamic_rules[${index}].content: must not exceed ${MAX_CONTENT_BYTES} bytes`,
      )
}

/** Contents of the rules that fire in this step, those of the deployment first. */
export function firedRules(run: ActiveRun, deploymentRules: readonly DynamicRule[]): readonly string[] {
  const own = run.request.dynamic_rules ?? []
  if (own.length === 0 && deploymentRules.length === 0) return []
  const used = toolsOfLastAnswer(run)
  if (used.length === 0) return []
  return [
    ...deploymentRules.flatMap(rule => fire(run, rule, 'deployment', used)),
    ...own.flatMap(rule => fire(run, rule, 'request', used)),
  ]
}

function fire(run: ActiveRun, rule: DynamicRule, origin: string, used: readonly string[]): readonly string[] {
  const { id = '', content = '', trigger, fire_once: isOnce } = rule
  const tool = trigger?.tool_names?.find(name => used.includes(name))
  if (id.trim() === '' || content.trim() === '' || tool === undefined) return []
  if (isOnce && !mayFireOnce(run, `${origin}:${id}`)) return []
  run.emit('rule.injected', { rule_id: id, step: run.step, trigger_tool: tool })
  return [content]
}

function mayFireOnce(run: ActiveRun, key: string): boolean {
  const fired = (run.note(FIRED) as Fired | undefined) ?? {}
  const step = fired[key]
  if (step === undefined) run.setNote(FIRED, { ...fired, [key]: run.step })
  return step === undefined || step === run.step
}

/** What the model called when it answered last; history of earlier runs ends without calls. */
function toolsOfLastAnswer({ transcript }: ActiveRun): readonly string[] {
  const last = transcript.findLast(({ role }) => role === 'assistant')
  return last?.tool_calls?.map(({ name }) => name) ?? []
}
