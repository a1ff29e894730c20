import { expect } from 'vitest'
import { createSseParser } from '#kernel/cli/sse-parser'
import { boot } from '#test/kit/boot'
import { startChatServer } from '#test/kit/chat-server'
import { framesIn, readStream } from '#test/kit/stream-reader'

/** Pieces of text that end lines, look like frames, or are half of a character. */
const HOSTILE = [
  '\r',
  '\n',
  '\r\n',
  '\n\n',
  '\u2028',
  '\u2029',
  '\u0085',
  '\ufeff',
  '\0',
  '\ud800',
  '\udc00',
  '😀',
  'id: run_x:99\n',
  'event: run.completed\n',
  'data: {"type":"run.completed"}\n\n',
  'retry: 0\n',
  ': ping\n\n',
  '"}\\',
  '\\u2028',
  '\\n\\n',
  'data:',
  'plain ',
] as const

/** Runs `rounds` payloads made of hostile pieces through a real daemon and reads them back with three parsers. */
export async function checkIntegrity(random: () => number, rounds: number): Promise<void> {
  const hostile = () =>
    Array.from({ length: 1 + Math.floor(random() * 8) }, () => HOSTILE[Math.floor(random() * HOSTILE.length)]).join('')
  const chunks = Array.from({ length: rounds }, hostile)
  const calls = Array.from({ length: 20 }, (_, index) => ({
    id: `${index}${hostile()}`,
    name: hostile(),
    arguments: { text: hostile() },
  }))
  const model = await startChatServer({ turns: [{ toolCalls: calls }, { chunks }] })
  const live = await boot({ modelUrl: model.baseUrl, isDurable: true })
  try {
    const prompt = hostile()
    const conversationId = `talk${hostile()}`
    const runId = await live.start({ prompt, conversation_id: conversationId, agent_id: hostile() })
    await live.events(runId)
    const { bytes, isWhole } = await readStream(`${live.url}/v1/runs/${runId}/events`)
    expect(isWhole).toBe(true)
    const text = bytes.toString('utf8')
    const frames = framesIn(bytes)
    expect(frames.join('')).toBe(text)
    // Neither of the three line ends of the standard, nor the two that some parsers add, stands inside a line.
    expect(frames.filter(frame => frame.split(/[\n\r\u2028\u2029]/).length !== 6)).toEqual([])
    const [ours, theirs] = [readOurs(text, random), await readTheirs(text, random)]
    expect(theirs.map(({ data }) => data)).toEqual(ours)
    expect(theirs.map(({ id }) => id)).toEqual(ours.map((_, index) => `${runId}:${index}`))
    const events = theirs.map(({ data }) => JSON.parse(data))
    expect(theirs.map(({ event }) => event)).toEqual(events.map(({ type }) => type))
    expect(events[0].payload.prompt).toBe(prompt)
    expect(new Set(events.map(({ payload }) => payload.conversation_id))).toEqual(new Set([conversationId]))
    const shown = (type: string) => events.filter(event => event.type === type)
    expect(shown('tool.call.started').map(({ payload }) => payload.tool)).toEqual(calls.map(({ name }) => name))
    expect(shown('run.completed').map(({ payload }) => payload.output)).toEqual([chunks.join('')])
    expect(
      shown('assistant.message.delta')
        .map(({ payload }) => payload.content)
        .join(''),
    ).toBe(chunks.join(''))
  } finally {
    await live.stop()
    await model.close()
  }
}

/** Feeds a text in pieces of random length. */
function feed(text: string, random: () => number, take: (piece: string) => void): void {
  for (let at = 0; at < text.length; ) {
    const end = at + 1 + Math.floor(random() * 700)
    take(text.slice(at, end))
    at = end
  }
}

function readOurs(text: string, random: () => number): readonly string[] {
  const seen: string[] = []
  const parser = createSseParser(data => seen.push(data), 2 ** 24)
  feed(text, random, piece => parser.feed(piece))
  return seen
}

/** Loaded by a name the compiler does not follow: the package offers it its own sources, which are not for our settings. */
const PARSER: string = 'eventsource-parser'

interface Parsed {
  readonly id?: string | undefined
  readonly event?: string | undefined
  readonly data: string
}

async function readTheirs(text: string, random: () => number): Promise<readonly Parsed[]> {
  const { createParser } = (await import(PARSER)) as {
    createParser(on: { onEvent(event: Parsed): void }): { feed(text: string): void }
  }
  const seen: Parsed[] = []
  const parser = createParser({ onEvent: ({ id, event, data }) => void seen.push({ id, event, data }) })
  feed(text, random, piece => parser.feed(piece))
  return seen
}
