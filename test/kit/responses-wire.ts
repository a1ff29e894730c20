import type { ScriptedTurn, ScriptedUsage, ScriptedWire } from './chat-wire.js'

/** The Responses API, as OpenAI streams it: named events with sequence numbers, each item announced and closed. */
export const RESPONSES_WIRE: ScriptedWire = {
  path: '/responses',
  frames: responsesFrames,
  malformedFrame: 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"ab\n\n',
  malformedFrames: ['[]', '7', 'null', '"text"', '{"type":', '\u0000'].map(data => `data: ${data}\n\n`),
  error: (message, code) =>
    JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code: code ?? null } }),
}

/** An item of `response.output`. */
type Item = Readonly<Record<string, unknown>> & { readonly id: string }
type Numbered = (type: string, fields: object) => string

/** One event with these fields, for scripts that need a form of their own. */
export const responsesFrame = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

/** The response object of an event, with what a script does not state as it is at the beginning. */
export const responseObject = (fields: object = {}): object => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'in_progress',
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  model: 'scripted',
  output: [],
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  store: false,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  truncation: 'disabled',
  usage: null,
  user: null,
  ...fields,
})

/** What `response.usage` looks like. */
export const responseUsage = (usage: ScriptedUsage): object => ({
  input_tokens: usage.prompt,
  input_tokens_details: {
    ...(usage.cached === undefined ? {} : { cached_tokens: usage.cached }),
    ...(usage.cacheWritten === undefined ? {} : { cache_write_tokens: usage.cacheWritten }),
  },
  output_tokens: usage.completion,
  output_tokens_details: usage.reasoning === undefined ? {} : { reasoning_tokens: usage.reasoning },
  total_tokens: usage.prompt + usage.completion,
})

function responsesFrames(turn: ScriptedTurn): readonly string[] {
  const { thinking, toolCalls = [], usage = { prompt: 10, completion: 5 } } = turn
  const chunks = turn.chunks ?? (turn.text === undefined ? [] : [turn.text])
  let number = 0
  const event: Numbered = (type, fields) => responsesFrame(type, { sequence_number: number++, ...fields })

  const output: Item[] = []
  const head = [
    event('response.created', { response: responseObject() }),
    event('response.in_progress', { response: responseObject() }),
  ]
  if (thinking !== undefined) head.push(...reasoningEvents(event, thinking, output))
  const message = chunks.length === 0 ? undefined : messageEvents(event, chunks, output)
  const calls = callEvents(event, toolCalls, output)
  return [
    [...head, ...(message?.opening ?? [])].join(''),
    ...(message?.deltas ?? []),
    [...(message?.closing ?? []), ...calls].join(''),
    lastEvent(event, turn.finish, output, usage),
  ]
}

function lastEvent(event: Numbered, finish: string | undefined, output: readonly Item[], usage: ScriptedUsage | null) {
  const reason = { length: 'max_output_tokens', content_filter: 'content_filter' }[finish ?? '']
  const status = reason === undefined ? 'completed' : 'incomplete'
  const response = responseObject({
    status,
    output,
    incomplete_details: reason === undefined ? null : { reason },
    usage: usage === null ? null : responseUsage(usage),
  })
  return event(`response.${status}`, { response })
}

function reasoningEvents(event: Numbered, text: string, output: Item[]): string[] {
  const id = 'rs_1'
  const place = { item_id: id, output_index: output.length, summary_index: 0 }
  const [half, rest] = halves(text)
  const item = { id, type: 'reasoning', summary: [{ type: 'summary_text', text }], encrypted_content: `sealed ${text}` }
  output.push(item)
  return [
    event('response.output_item.added', { output_index: place.output_index, item: { ...item, summary: [] } }),
    event('response.reasoning_summary_part.added', { ...place, part: { type: 'summary_text', text: '' } }),
    event('response.reasoning_summary_text.delta', { ...place, delta: half }),
    event('response.reasoning_summary_text.delta', { ...place, delta: rest }),
    event('response.reasoning_summary_text.done', { ...place, text }),
    event('response.reasoning_summary_part.done', { ...place, part: { type: 'summary_text', text } }),
    event('response.output_item.done', { output_index: place.output_index, item }),
  ]
}

function messageEvents(event: Numbered, chunks: readonly string[], output: Item[]) {
  const id = 'msg_1'
  const place = { item_id: id, output_index: output.length, content_index: 0 }
  const part = (text: string) => ({ type: 'output_text', annotations: [], logprobs: [], text })
  const text = chunks.join('')
  const item = { id, type: 'message', role: 'assistant', status: 'completed', content: [part(text)] }
  output.push(item)
  const { output_index } = place
  return {
    opening: [
      event('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', content: [] } }),
      event('response.content_part.added', { ...place, part: part('') }),
    ],
    deltas: chunks.map(delta => event('response.output_text.delta', { ...place, delta, logprobs: [] })),
    closing: [
      event('response.output_text.done', { ...place, text, logprobs: [] }),
      event('response.content_part.done', { ...place, part: part(text) }),
      event('response.output_item.done', { output_index, item }),
    ],
  }
}

/** Heads first, then the arguments of all calls in turns, in halves: parallel calls come interleaved. */
function callEvents(event: Numbered, calls: NonNullable<ScriptedTurn['toolCalls']>, output: Item[]): string[] {
  const items = calls.map(({ id, name, arguments: args }, index) => ({
    output_index: output.length + index,
    id: `fc_${index}`,
    call_id: id ?? `call_${name}_${index}`,
    name,
    text: typeof args === 'string' ? args : JSON.stringify(args),
  }))
  const itemOf = ({ id, call_id, name }: (typeof items)[number], status: string, args: string) => ({
    ...{ id, type: 'function_call', status, arguments: args, call_id, name },
  })
  output.push(...items.map(item => itemOf(item, 'completed', item.text)))
  return [
    ...items.map(item =>
      event('response.output_item.added', {
        output_index: item.output_index,
        item: itemOf(item, 'in_progress', ''),
      }),
    ),
    ...[0, 1].flatMap(half =>
      items.map(({ id, output_index, text }) =>
        event('response.function_call_arguments.delta', { item_id: id, output_index, delta: halves(text)[half] }),
      ),
    ),
    ...items.flatMap(item => [
      event('response.function_call_arguments.done', {
        item_id: item.id,
        output_index: item.output_index,
        name: item.name,
        arguments: item.text,
      }),
      event('response.output_item.done', {
        output_index: item.output_index,
        item: itemOf(item, 'completed', item.text),
      }),
    ]),
  ]
}

function halves(text: string): readonly [string, string] {
  const middle = Math.floor(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}
