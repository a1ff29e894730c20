import { spawn } from 'node:child_process'
import { Agent, request } from 'undici'

/** A message as the wire has it. */
export interface FloorMessage {
  readonly role: string
  readonly content: string | null
  readonly tool_calls?: readonly FloorCall[]
  readonly tool_call_id?: string
}

export interface FloorCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; arguments: string }
}

type Emit = (type: string, payload: Readonly<Record<string, unknown>>) => void

const PARAMETERS = { type: 'object', properties: { text: { type: 'string' }, command: { type: 'string' } } }
const TOOLS = ['echo', 'bash'].map(name => ({
  type: 'function',
  function: { name, description: name, parameters: PARAMETERS },
}))
const HEADERS = { 'content-type': 'application/json', authorization: 'Bearer bench' }
const MAX_STEPS = 1000

/**
 * The least that can be called an agent: stream a turn, run its calls, repeat until there is text. No bounds, no
 * retries, no cancel.
 */
export function createModelLoop(baseUrl: string) {
  const dispatcher = new Agent({ connections: 4096, pipelining: 1, headersTimeout: 120_000, bodyTimeout: 120_000 })
  return async (messages: FloorMessage[], emit: Emit): Promise<string> => {
    for (let step = 1; step <= MAX_STEPS; step++) {
      const turn = await answer(baseUrl, dispatcher, messages, text => emit('assistant.message.delta', { text, step }))
      messages.push({
        role: 'assistant',
        content: turn.text || null,
        ...(turn.calls.length > 0 && { tool_calls: turn.calls }),
      })
      if (turn.calls.length === 0) return turn.text
      for (const call of turn.calls) {
        emit('tool.call.started', { name: call.function.name, step })
        messages.push({ role: 'tool', tool_call_id: call.id, content: await perform(call) })
        emit('tool.call.completed', { name: call.function.name, step })
      }
    }
    throw new Error('too many steps')
  }
}

interface Delta {
  readonly content?: string | null
  readonly tool_calls?: readonly {
    readonly index: number
    readonly id?: string
    readonly function: { readonly name?: string; readonly arguments?: string }
  }[]
}

async function answer(
  baseUrl: string,
  dispatcher: Agent,
  messages: readonly FloorMessage[],
  onText: (text: string) => void,
) {
  let text = ''
  const calls: FloorCall[] = []
  const take = (delta: Delta | undefined): void => {
    if (delta?.content) {
      text += delta.content
      onText(delta.content)
    }
    for (const { index, id, function: piece } of delta?.tool_calls ?? []) {
      calls[index] ??= { id: id ?? '', type: 'function', function: { name: piece.name ?? '', arguments: '' } }
      calls[index].function.arguments += piece.arguments ?? ''
    }
  }
  const { body } = await request(`${baseUrl}/chat/completions`, {
    method: 'POST',
    dispatcher,
    headers: HEADERS,
    body: JSON.stringify({ model: 'bench-model', stream: true, messages, tools: TOOLS }),
  })
  body.setEncoding('utf8')
  let rest = ''
  for await (const piece of body as AsyncIterable<string>) {
    const frames = (rest + piece).split('\n\n')
    rest = frames.pop() ?? ''
    for (const frame of frames)
      if (frame !== 'data: [DONE]') take(JSON.parse(frame.slice('data: '.length)).choices[0]?.delta)
  }
  return { text, calls }
}

function perform({ function: { name, arguments: text } }: FloorCall): Promise<string> | string {
  const args = JSON.parse(text || '{}') as { readonly text?: string; readonly command?: string }
  if (name === 'echo') return args.text ?? ''
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', args.command ?? 'true'], { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      output += piece
    })
    child.on('error', reject).on('close', () => resolve(output))
  })
}
