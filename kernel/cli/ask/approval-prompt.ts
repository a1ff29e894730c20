import { plainLine, plainText } from '../render/plain-text.js'

/** What somebody is asked to allow, as the event tells it. */
export interface ApprovalRequest {
  readonly callId: string
  readonly tool: string
  readonly argumentsText: string
  /** Names this very question, where the daemon has checkpoints. */
  readonly checkpointId?: string
}

/** What an answer is sent with, so that it counts for this question and no other. */
export const shownOf = ({ callId, checkpointId }: ApprovalRequest) => ({
  call_id: callId,
  ...(checkpointId !== undefined && { checkpoint_id: checkpointId }),
})

/** A way to carry out a plan. */
export interface PlanOption {
  readonly id: string
  readonly label: string
  readonly description?: string
}

export type ApprovalAnswer =
  | { readonly decision: 'approve'; readonly option?: string }
  | { readonly decision: 'deny'; readonly message?: string }

/** The call with which a plan is put to a person. */
const PLAN_TOOL = 'plan_exit'
/** What does not fit a screen is shown when asked for. */
const SHORT_LINES = 40
const SHORT_CHARACTERS = 500

/** A call as a person judges it. Every line of it is harmless for a terminal and indented, so that none can look like a prompt. */
export function approvalScreen({ tool, argumentsText }: ApprovalRequest, isWhole: boolean): string {
  const heading = tool === PLAN_TOOL ? 'The agent proposes a plan:' : `The agent wants to use ${plainLine(tool)}:`
  const lines = tool === PLAN_TOOL ? planLines(argumentsText) : argumentLines(argumentsText)
  const shown = isWhole ? lines : lines.slice(0, SHORT_LINES).map(shortLine)
  const hidden = lines.length - shown.length
  return [
    heading,
    ...shown.map(line => `  │ ${line}`.trimEnd()),
    ...(hidden > 0 ? [`  … ${hidden} more lines; v shows them`] : []),
    ...optionsOf({ tool, argumentsText }).map(
      ({ id, label, description }) =>
        `  ${plainLine(id)}) ${plainLine(label)}${description ? `: ${plainLine(description)}` : ''}`,
    ),
    '',
  ].join('\n')
}

function shortLine(line: string): string {
  const hidden = line.length - SHORT_CHARACTERS
  return hidden > 0 ? `${line.slice(0, SHORT_CHARACTERS)} … ${hidden} more characters; v shows them` : line
}

/** A call in a line: for whoever may answer elsewhere. */
export function approvalSummary({ tool, argumentsText }: Pick<ApprovalRequest, 'tool' | 'argumentsText'>): string {
  if (tool !== PLAN_TOOL) return `${plainLine(tool)} ${plainLine(argumentsText)}`
  return `the plan: ${planLines(argumentsText).find(line => line.trim() !== '') ?? ''}`
}

/** The line that waits for the answer. */
export function approvalQuestion(request: ApprovalRequest): string {
  const options = optionsOf(request).map(({ id }) => plainLine(id))
  if (request.tool !== PLAN_TOOL) return `Allow ${plainLine(request.tool)}? y, or n and why: `
  if (options.length === 0) return 'Approve the plan? y, or n and what to change: '
  return `Carry it out: ${options.join(', ')}; y keeps the plan only; n and what to change: `
}

/** What a typed line means; `view`: show everything; undefined: it has to be asked again. */
export function readApproval(line: string, request: ApprovalRequest): ApprovalAnswer | 'view' | undefined {
  const text = line.trim()
  if (/^(y|yes)$/i.test(text)) return { decision: 'approve' }
  if (/^(v|view)$/i.test(text)) return 'view'
  const option = optionsOf(request).find(({ id }) => id.toLowerCase() === text.toLowerCase())
  if (option) return { decision: 'approve', option: option.id }
  const no = /^(?:no|n)(?:[\s,:]+(.*))?$/is.exec(text)
  if (!no) return undefined
  const message = no[1]?.trim().slice(0, MAX_MESSAGE_CHARACTERS)
  return { decision: 'deny', ...(message && { message }) }
}

const MAX_MESSAGE_CHARACTERS = 4096

/** The ways a plan offers; none for any other call. */
export function optionsOf({
  tool,
  argumentsText,
}: Pick<ApprovalRequest, 'tool' | 'argumentsText'>): readonly PlanOption[] {
  const options = tool === PLAN_TOOL ? fieldsOf(argumentsText)?.options : undefined
  if (!Array.isArray(options)) return []
  return options.filter(
    (option): option is PlanOption => typeof option?.id === 'string' && typeof option.label === 'string',
  )
}

function planLines(text: string): readonly string[] {
  const plan = fieldsOf(text)?.plan
  return typeof plan === 'string' ? linesOf(plan) : argumentLines(text)
}

/** One argument per line, texts of several lines below their name; nothing is left out. */
function argumentLines(text: string): readonly string[] {
  const fields = fieldsOf(text)
  if (!fields) return linesOf(text)
  return Object.entries(fields).flatMap(([name, value]) => {
    const lines = linesOf(typeof value === 'string' ? value : JSON.stringify(value))
    return lines.length === 1
      ? [`${plainLine(name)}: ${lines[0]}`]
      : [`${plainLine(name)}:`, ...lines.map(line => `  ${line}`)]
  })
}

const linesOf = (text: string): readonly string[] => plainText(text).split('\n')

function fieldsOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}
