import type { Usage } from '#contracts/run/usage'

/** One answer of a scripted model, in words of no particular wire. */
export interface ScriptedTurn {
  readonly text?: string
  /** Text in these very pieces; wins over `text`. */
  readonly chunks?: readonly string[]
  readonly thinking?: string
  readonly toolCalls?: readonly { readonly id?: string; readonly name: string; readonly arguments: string | object }[]
  /** `null`: none is reported. Default: 10 and 5 tokens. */
  readonly usage?: ScriptedUsage | null
  readonly finish?: string
}

/** Tokens of a scripted answer; `cached` and `cacheWritten` are part of `prompt`, `reasoning` of `completion`. */
export interface ScriptedUsage {
  readonly prompt: number
  readonly completion: number
  readonly cached?: number
  readonly cacheWritten?: number
  readonly reasoning?: number
}

/** How abstract turns look on a provider's wire; the contract suite speaks every wire through one of these. */
export interface ScriptedWire {
  /** Path that requests end with. */
  readonly path: string
  /**
   * The frames of a streamed answer: all that comes before the first chunk, each chunk, and the rest, the last one ending
   * it. A frame is what is written at once; it may hold several events.
   */
  frames(turn: ScriptedTurn): readonly string[]
  /** A frame that is cut or garbled inside. */
  readonly malformedFrame: string
  /** Body of an HTTP error. */
  error(message: string, code?: string): string
  /** More frames that are none: wrong types instead of wrong JSON. */
  readonly malformedFrames?: readonly string[]
  /** Whole answers, each with one of the ways in which servers of this wire report usage. */
  readonly usageForms?: readonly UsageForm[]
  /** What the vendors behind this wire say when a request is too long for a model. */
  readonly tooLong?: readonly { readonly status: number; readonly message: string; readonly code?: string }[]
}

export interface UsageForm {
  readonly name: string
  readonly frames: readonly string[]
  readonly usage: Usage
}

/** Chat completions, as OpenAI streams them. */
export const CHAT_WIRE: ScriptedWire = {
  path: '/chat/completions',
  frames: chatFrames,
  malformedFrame: 'data: {"choices":[{"index":0,"delta":{"content":"ab\n\n',
  malformedFrames: ['[]', '7', 'null', '"text"', '{"choices":', '\u0000'].map(data => `data: ${data}\n\n`),
  error: (message, code) => JSON.stringify({ error: { message, type: 'error', code: code ?? null } }),
}

function chatFrames(turn: ScriptedTurn): readonly string[] {
  const { toolCalls = [], thinking, usage = { prompt: 10, completion: 5 } } = turn
  const finish = turn.finish ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop')
  return [
    chatDelta({ role: 'assistant', content: '' }),
    ...(thinking === undefined ? [] : [chatDelta({ reasoning_content: thinking })]),
    ...(turn.chunks ?? (turn.text === undefined ? [] : [turn.text])).map(content => chatDelta({ content })),
    ...toolCallFrames(toolCalls),
    chatDelta({}, finish),
    ...(usage === null ? [] : [usageFrame(usage)]),
    'data: [DONE]\n\n',
  ]
}

/** One chunk with this delta, for scripts that need a form of their own. */
export const chatDelta = (delta: object, finish: string | null = null): string =>
  chatFrame({ choices: [{ index: 0, delta, finish_reason: finish }] })

/** One chunk with these fields at its root. */
export const chatFrame = (fields: object): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'scripted', ...fields })}\n\n`

const usageFrame = ({ prompt, completion, cached, cacheWritten, reasoning }: ScriptedUsage) =>
  chatFrame({
    choices: [],
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      ...(cached === undefined && cacheWritten === undefined
        ? {}
        : { prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWritten } }),
      ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
    },
  })

/** Heads first, then the arguments of all calls in turns, in halves: parallel calls come interleaved. */
function toolCallFrames(calls: NonNullable<ScriptedTurn['toolCalls']>): string[] {
  const halves = calls.map(({ arguments: args }) => {
    const text = typeof args === 'string' ? args : JSON.stringify(args)
    const middle = Math.floor(text.length / 2)
    return [text.slice(0, middle), text.slice(middle)]
  })
  const heads = calls.map(({ id, name }, index) =>
    chatDelta({
      tool_calls: [{ index, id: id ?? `call_${name}_${index}`, type: 'function', function: { name, arguments: '' } }],
    }),
  )
  const pieces = [0, 1].flatMap(half =>
    halves.map((pair, index) => chatDelta({ tool_calls: [{ index, function: { arguments: pair[half] } }] })),
  )
  return [...heads, ...pieces]
}
