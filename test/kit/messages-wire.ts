import type { ScriptedTurn, ScriptedUsage, ScriptedWire } from './chat-wire.js'

/** The messages API, as its vendor streams it. */
export const MESSAGES_WIRE: ScriptedWire = {
  path: '/messages',
  frames: messagesFrames,
  malformedFrame:
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ab\n\n',
  malformedFrames: [
    ...['[]', '7', 'null', '"text"', '{"type":', '\u0000'].map(data => `event: content_block_delta\ndata: ${data}\n\n`),
    messagesEvent('content_block_delta', { index: 77, delta: { type: 'input_json_delta', partial_json: '{' } }),
  ],
  error: (message, code = 'invalid_request_error') =>
    JSON.stringify({ type: 'error', error: { type: code, message }, request_id: 'req_011' }),
  usageForms: [
    {
      name: 'input at the start, output at the end',
      frames: answerWithUsage({ input_tokens: 3, output_tokens: 1 }, { output_tokens: 2 }),
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    },
    {
      name: 'with what was read from and written to the cache',
      frames: answerWithUsage(
        { input_tokens: 3, cache_creation_input_tokens: 40, cache_read_input_tokens: 500, output_tokens: 1 },
        { output_tokens: 20 },
      ),
      usage: {
        prompt_tokens: 543,
        completion_tokens: 20,
        total_tokens: 563,
        cached_prompt_tokens: 500,
        cache_write_prompt_tokens: 40,
      },
    },
    {
      name: 'totals that grew, and fields that do not apply',
      frames: answerWithUsage(
        { input_tokens: 3, cache_creation_input_tokens: null, cache_read_input_tokens: 0, output_tokens: 1 },
        {
          input_tokens: 30,
          cache_creation_input_tokens: null,
          cache_read_input_tokens: 7,
          output_tokens: 20,
          output_tokens_details: { thinking_tokens: 12 },
          server_tool_use: null,
        },
      ),
      usage: {
        prompt_tokens: 37,
        completion_tokens: 20,
        total_tokens: 57,
        cached_prompt_tokens: 7,
        reasoning_tokens: 12,
      },
    },
    {
      name: 'at the end only',
      frames: answerWithUsage(undefined, { input_tokens: 3, output_tokens: 2 }),
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    },
  ],
  tooLong: [
    { status: 400, message: 'prompt is too long: 210000 tokens > 200000 maximum' },
    { status: 400, message: 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000' },
    { status: 413, message: 'Request exceeds the maximum size', code: 'request_too_large' },
  ],
}

/** One server-sent event of the messages API, for scripts that need a form of their own. */
export function messagesEvent(type: string, fields: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}

function messagesFrames(turn: ScriptedTurn): readonly string[] {
  const { thinking, toolCalls = [], usage = { prompt: 10, completion: 5 } } = turn
  const chunks = turn.chunks ?? (turn.text === undefined ? [] : [turn.text])
  const reason = turn.finish ?? (toolCalls.length > 0 ? 'tool_use' : 'end_turn')
  const textAt = thinking === undefined ? 0 : 1
  const callsAt = textAt + (chunks.length > 0 ? 1 : 0)
  const before = [
    messageStart(usage === null ? undefined : startUsage(usage)),
    messagesEvent('ping'),
    ...(thinking === undefined ? [] : thinkingBlock(thinking)),
    ...(chunks.length > 0 ? [blockStart(textAt, { type: 'text', text: '' })] : []),
  ]
  const calls = toolCalls.flatMap(({ id, name, arguments: args }, index) =>
    callBlock(
      callsAt + index,
      id ?? `toolu_${name}_${index}`,
      name,
      typeof args === 'string' ? args : JSON.stringify(args),
    ),
  )
  const end = [
    ...(chunks.length > 0 ? [messagesEvent('content_block_stop', { index: textAt })] : []),
    ...calls,
    messageDelta(reason, usage === null ? undefined : endUsage(usage)),
  ]
  const deltas = chunks.map(text => blockDelta(textAt, { type: 'text_delta', text }))
  return [before.join(''), ...deltas, end.join(''), messagesEvent('message_stop')]
}

const startUsage = ({ prompt, cached, cacheWritten }: ScriptedUsage) => ({
  input_tokens: prompt - (cached ?? 0) - (cacheWritten ?? 0),
  ...(cacheWritten === undefined ? {} : { cache_creation_input_tokens: cacheWritten }),
  ...(cached === undefined ? {} : { cache_read_input_tokens: cached }),
  output_tokens: 1,
})

const endUsage = ({ completion, reasoning }: ScriptedUsage) => ({
  output_tokens: completion,
  ...(reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoning } }),
})

function messageStart(usage: object | undefined): string {
  const message = { id: 'msg_01', type: 'message', role: 'assistant', model: 'scripted', content: [] }
  return messagesEvent('message_start', {
    message: { ...message, stop_reason: null, stop_sequence: null, ...(usage === undefined ? {} : { usage }) },
  })
}

function messageDelta(reason: string, usage: object | undefined): string {
  const delta = { stop_reason: reason, stop_sequence: null }
  return messagesEvent('message_delta', { delta, ...(usage === undefined ? {} : { usage }) })
}

function blockStart(index: number, block: object): string {
  return messagesEvent('content_block_start', { index, content_block: block })
}

function blockDelta(index: number, delta: object): string {
  return messagesEvent('content_block_delta', { index, delta })
}

const thinkingBlock = (thinking: string) => [
  blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
  blockDelta(0, { type: 'thinking_delta', thinking }),
  blockDelta(0, { type: 'signature_delta', signature: 'EqoBCkgIAR' }),
  messagesEvent('content_block_stop', { index: 0 }),
]

/** An empty piece first, then the arguments in halves, none at all for empty ones: as the vendor does it. */
function callBlock(index: number, id: string, name: string, args: string): string[] {
  const middle = Math.floor(args.length / 2)
  const pieces = args === '{}' ? [''] : ['', args.slice(0, middle), args.slice(middle)]
  return [
    blockStart(index, { type: 'tool_use', id, name, input: {} }),
    ...pieces.map(partial_json => blockDelta(index, { type: 'input_json_delta', partial_json })),
    messagesEvent('content_block_stop', { index }),
  ]
}

function answerWithUsage(atStart: object | undefined, atEnd: object): readonly string[] {
  return [
    messageStart(atStart),
    blockStart(0, { type: 'text', text: '' }),
    blockDelta(0, { type: 'text_delta', text: 'a' }),
    messagesEvent('content_block_stop', { index: 0 }),
    messageDelta('end_turn', atEnd),
    messagesEvent('message_stop'),
  ]
}
