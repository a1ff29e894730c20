import { chatDelta, chatFrame, type ScriptedWire, type UsageForm } from './chat-wire.js'
import { responseObject, responsesFrame, responseUsage } from './responses-wire.js'

const STOP = chatDelta({}, 'stop')
const DONE = 'data: [DONE]\n\n'
const PLAIN = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

/** Where servers of chat completions put usage, and what they call it. */
export const CHAT_USAGE_FORMS: readonly UsageForm[] = [
  ['a chunk of its own', [STOP, chatFrame({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } })], PLAIN],
  ['the last choice chunk', [chatFrame({ choices: [{ delta: {}, finish_reason: 'stop' }], usage: PLAIN })], PLAIN],
  ['inside the choice', [chatFrame({ choices: [{ delta: {}, finish_reason: 'stop', usage: PLAIN }] })], PLAIN],
  ['a corner of its own', [STOP, chatFrame({ x_groq: { usage: PLAIN } })], PLAIN],
  ['other words', [STOP, chatFrame({ usage: { input_tokens: 3, output_tokens: 2 } })], PLAIN],
  ['a total and a part', [STOP, chatFrame({ usage: { total_tokens: 5, completion_tokens: 2 } })], PLAIN],
  [
    'running totals in every chunk',
    [
      chatFrame({ choices: [{ delta: {} }], usage: { prompt_tokens: 3, completion_tokens: 1 } }),
      chatFrame({ choices: [{ delta: {}, finish_reason: 'stop' }], usage: { prompt_tokens: 3, completion_tokens: 2 } }),
    ],
    PLAIN,
  ],
  [
    'cache hits at the root',
    [STOP, chatFrame({ usage: { ...PLAIN, prompt_cache_hit_tokens: 2, prompt_cache_miss_tokens: 1 } })],
    { ...PLAIN, cached_prompt_tokens: 2 },
  ],
  [
    'details of every kind',
    [
      STOP,
      chatFrame({
        usage: {
          ...PLAIN,
          prompt_tokens_details: { cached_tokens: 1, cache_write_tokens: 2, audio_tokens: 3 },
          completion_tokens_details: { reasoning_tokens: 4, audio_tokens: 5 },
        },
      }),
    ],
    {
      ...PLAIN,
      cached_prompt_tokens: 1,
      cache_write_prompt_tokens: 2,
      reasoning_tokens: 4,
      input_audio_tokens: 3,
      output_audio_tokens: 5,
    },
  ],
].map(([name, frames, usage]) => ({ name, frames: [...(frames as string[]), DONE], usage }) as UsageForm)

const completed = (usage: object, type = 'response.completed') =>
  responsesFrame(type, { response: responseObject({ status: type.slice('response.'.length), usage }) })

/** What `response.usage` may hold, and when it comes. */
export const RESPONSES_USAGE_FORMS: readonly UsageForm[] = [
  { name: 'counts alone', frames: [completed({ input_tokens: 3, output_tokens: 2 })], usage: PLAIN },
  {
    name: 'details of every kind',
    frames: [completed(responseUsage({ prompt: 3, completion: 2, cached: 1, cacheWritten: 2, reasoning: 1 }))],
    usage: { ...PLAIN, cached_prompt_tokens: 1, cache_write_prompt_tokens: 2, reasoning_tokens: 1 },
  },
  {
    name: 'an answer that was cut',
    frames: [completed(responseUsage({ prompt: 3, completion: 2 }), 'response.incomplete')],
    usage: PLAIN,
  },
  { name: 'the words of chat completions', frames: [completed(PLAIN)], usage: PLAIN },
]

/** How the vendors behind this wire say that a request is too long. */
export const OPENAI_TOO_LONG: NonNullable<ScriptedWire['tooLong']> = [
  "This model's maximum context length is 128000 tokens. However, your messages resulted in 130012 tokens.",
  'Your input exceeds the context window of this model. Please adjust your input and try again.',
  'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  'Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192',
  "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
  'This endpoint’s maximum context length is 200000 tokens. You requested about 250000 tokens.',
  'the request exceeds the available context size. try increasing the context size or enable context shift',
  'Trying to keep the first 5000 tokens when context overflows. The model is loaded with context length of only 4096.',
  'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
  'Invalid request: Your request exceeded model token limit: 8192',
  '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]',
  'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens',
  'prompt too long; exceeded max context length by 12 tokens',
  'The decoder prompt (length 5000) is longer than the maximum model length of 4096.',
  'prompt token count of 64001 exceeds the limit of 64000',
  'prompt is too long: 208310 tokens > 200000 maximum',
  'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000',
  'Input is too long for requested model.',
]
  .map((message): { status: number; message: string; code?: string } => ({ status: 400, message }))
  .concat([
    { status: 400, message: 'no', code: 'context_length_exceeded' },
    { status: 400, message: 'no', code: 'exceed_context_size_error' },
    { status: 413, message: 'Request too large' },
    { status: 422, message: 'Input is too long' },
  ])
