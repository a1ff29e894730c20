import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Booted, type BootOptions, boot } from '#test/kit/boot'
import { type ChatServer, type ChatTurn, startChatServer } from '#test/kit/chat-server'

const call = (id: string, name: string, args: object): ChatTurn => ({ toolCalls: [{ id, name, arguments: args }] })

let dir = ''
let turns: readonly ChatTurn[] = []
let server: ChatServer
let daemon: Booted | undefined
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'runwright-prefix-'))
  server = await startChatServer({ respond: (_, index) => turns[index] as ChatTurn })
})
afterEach(async () => {
  await daemon?.stop()
  await server.close()
  await rm(dir, { recursive: true, force: true })
})

const start = async (options: BootOptions = {}) => {
  daemon = await boot({ modelUrl: server.baseUrl, dir, isDurable: true, ...options })
  await writeFile(join(daemon.workspace, 'AGENTS.md'), 'Write tests first. – ß\n')
  return daemon
}

interface Asked {
  readonly system: string
  readonly tools: readonly string[]
  readonly transcript: readonly string[]
}

/** What a provider's cache goes by, as it was sent. */
function asked(index: number): Asked {
  const body = server.calls[index]?.body as { messages: { role: string }[]; tools: unknown[] }
  const last = body.messages.findLastIndex(({ role }) => role !== 'system')
  const [system, ...transcript] = body.messages.slice(0, last + 1).map(message => JSON.stringify(message))
  return { system: system as string, tools: body.tools.map(tool => JSON.stringify(tool)), transcript }
}

const startsWith = <T>(whole: readonly T[], beginning: readonly T[]) =>
  expect(whole.slice(0, beginning.length)).toEqual(beginning)

test('a tool that was found is added behind the others, and nothing else changes', async () => {
  turns = [
    call('a', 'ls', {}),
    call('b', 'find_tool', { query: 'select:fetch' }),
    call('c', 'find_tool', { query: 'select:reset_context' }),
    { text: 'done' },
  ]
  await (await start()).run('go')
  const requests = turns.map((_, index) => asked(index))
  expect(new Set(requests.map(({ system }) => system)).size).toBe(1)
  expect(requests.map(({ tools }) => tools.length - (requests[0] as Asked).tools.length)).toEqual([0, 0, 1, 2])
  for (const [index, { tools, transcript }] of requests.slice(1).entries()) {
    startsWith(tools, (requests[index] as Asked).tools)
    startsWith(transcript, (requests[index] as Asked).transcript)
  }
})

test('a compaction changes the transcript alone, and from there on it only grows', async () => {
  turns = [
    call('a', 'ls', {}),
    call('b', 'ls', {}),
    call('c', 'compact_history', { mode: 'strip', keep_last: 1 }),
    call('d', 'ls', {}),
    { text: 'done' },
  ]
  await (await start()).run('go')
  const requests = turns.map((_, index) => asked(index))
  const [first, , , compacted, last] = requests as [Asked, Asked, Asked, Asked, Asked]
  expect(requests.map(({ system, tools }) => ({ system, tools }))).toEqual(
    turns.map(() => ({ system: first.system, tools: first.tools })),
  )
  expect(compacted.transcript[0]).toContain('were taken out here')
  startsWith(last.transcript, compacted.transcript)
})

test('a restart in the middle of a run asks with the same bytes', async () => {
  turns = [
    call('a', 'find_tool', { query: 'select:fetch' }),
    call('b', 'write', { path: 'x.txt', content: 'é\n' }),
    { hang: true },
    call('c', 'ls', {}),
    { text: 'done' },
  ]
  const before = await start()
  const id = await before.start({ prompt: 'go', conversation_id: 'talk', prompt_extensions: { talents: ['review'] } })
  await server.call(2)
  await before.stop()
  const after = await start()
  expect((await after.events(id)).at(-1)?.type).toBe('run.completed')
  expect(asked(3)).toEqual(asked(2))
  startsWith(asked(4).transcript, asked(3).transcript)
})
