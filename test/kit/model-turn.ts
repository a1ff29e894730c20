import type { ModelClient, ModelOutcome, ModelPart, ModelRequest } from '#contracts/model/client'

/** A request with nothing in it but what a test says. */
export const modelRequest = (fields: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'scripted',
  system: 'be brief',
  messages: [{ role: 'user', content: 'hello' }],
  trailing: [],
  tools: [],
  runId: 'run-1',
  conversationId: 'conversation-1',
  step: 1,
  ...fields,
})

/** What a turn gave. */
export interface Turn {
  readonly outcome: ModelOutcome
  readonly parts: readonly ModelPart[]
  readonly text: string
  readonly thinking: string
  /** Tool calls joined from the parts, by index. */
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
}

export interface TurnOptions {
  readonly request?: ModelRequest
  readonly signal?: AbortSignal
  onPart?(part: ModelPart): void
  drained?(): Promise<void> | undefined
}

/** Plays one turn and keeps all that the sink was given. */
export async function playTurn(client: ModelClient, options: TurnOptions = {}): Promise<Turn> {
  const parts: ModelPart[] = []
  const sink = {
    part(part: ModelPart) {
      parts.push(part)
      options.onPart?.(part)
    },
    drained: () => options.drained?.(),
  }
  const signal = options.signal ?? new AbortController().signal
  const outcome = await client.answer(options.request ?? modelRequest(), sink, signal)
  const joined = (kind: 'text' | 'thinking') => parts.map(part => (part.kind === kind ? part.text : '')).join('')
  return { outcome, parts, text: joined('text'), thinking: joined('thinking'), calls: callsOf(parts) }
}

function callsOf(parts: readonly ModelPart[]): Turn['calls'] {
  const calls: { id: string; name: string; arguments: string }[] = []
  for (const part of parts) {
    if (part.kind !== 'tool_call') continue
    const call = calls[part.index]
    if (call === undefined) calls[part.index] = { id: part.id ?? '', name: part.name ?? '', arguments: part.arguments }
    else call.arguments += part.arguments
  }
  return calls
}
