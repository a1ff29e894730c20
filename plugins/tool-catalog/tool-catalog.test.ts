import { Type } from '@sinclair/typebox'
import { afterEach, describe, expect, test } from 'vitest'
import type { PluginManifest } from '#contracts/plugin'
import { TOOLS } from '#contracts/ports'
import type { ActiveRun } from '#contracts/run/active-run'
import { defineTool, type ToolDefinition } from '#contracts/tool/tool'
import { type Booted, boot } from '#test/kit/boot'
import { type ChatServer, startChatServer } from '#test/kit/chat-server'
import { describePlugin, fakeRun, openPlugin } from '#test/kit/index'
import { gateByActivation, offerActivated } from './activation.js'
import { findTool } from './find-tool.js'
import { plugin } from './index.js'
import { scoreOf, termsOf } from './score.js'

const ports = [[TOOLS, { list: () => [] }]] as const
describePlugin(plugin as unknown as PluginManifest, { dir: import.meta.dirname, ports: [...ports] })

const tool = (name: string, more: Partial<ToolDefinition> = {}): ToolDefinition =>
  defineTool({
    name,
    description: '',
    parameters: Type.Object({}),
    action: 'read',
    execute: async () => ({ output: name }),
    ...more,
  })
const deferred = (name: string, more: Partial<ToolDefinition> = {}) => tool(name, { tier: 'deferred', ...more })

function runWith(tools: readonly ToolDefinition[], policy: Partial<ActiveRun['policy']> = {}): ActiveRun {
  return fakeRun({
    tools: new Map(tools.map(each => [each.name, each])),
    policy: { ...fakeRun().policy, ...policy },
  })
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
const find = async (run: ActiveRun, query: string): Promise<any> => findTool.execute({ query }, { run } as never)

describe('scores', () => {
  test.each([
    ['git_log', 10],
    ['git', 5 + 8 + 1],
    ['hist', 3],
    ['commits', 1],
    ['nothing', 0],
    ['git git GIT', 14],
    ['git commits', 15],
    ['it', 0],
    ['as the a', 0],
    ['hi', 0],
  ])('%j counts %d', (query, score) => {
    const subject = tool('git_log', { tags: ['git', 'history'], description: 'Commits, as Git has them' })
    expect(scoreOf(subject, termsOf(query))).toBe(score)
  })
})

describe('find_tool', () => {
  const tools = [
    tool('read', { tags: ['git'] }),
    deferred('git_log', { tags: ['git'], description: 'Commits' }),
    deferred('git_blame', { description: 'Who wrote it' }),
    deferred('fetch', { tags: ['web'] }),
  ]

  test('activates what fits, best first, and never a core tool', async () => {
    const run = runWith(tools)
    expect((await find(run, 'git')).output).toMatchObject({
      activated: ['git_log', 'git_blame'],
      results: [{ name: 'git_log', description: 'Commits', tags: ['git'] }, { name: 'git_blame' }],
    })
    expect(gateByActivation(tools[3] as ToolDefinition, run)).toMatchObject({ reason: 'tool_not_activated' })
    expect(gateByActivation(tools[1] as ToolDefinition, run)).toBeUndefined()
    expect(gateByActivation(tools[0] as ToolDefinition, run)).toBeUndefined()
  })

  test('select takes names, and says which of them there are not', async () => {
    const run = runWith(tools)
    const { output } = await find(run, 'select: fetch , nothing')
    expect([output.activated, output.message]).toEqual([['fetch'], expect.stringContaining('There is no tool nothing')])
    expect((await find(run, 'SELECT:fetch')).output.message).toBe('Active already: fetch.')
    for (const query of ['select:', 'select:none']) expect(await find(run, query)).toHaveProperty('error')
  })

  test('a tool that needs no activation is said to be there', async () => {
    const run = runWith(tools, { deniedTools: ['write'] })
    expect(await find(run, 'select:read')).toEqual({
      output: { message: 'You have read already: call it.', activated: [], results: [] },
    })
    expect((await find(run, 'select:read,fetch')).output).toMatchObject({
      activated: ['fetch'],
      message: 'Activated: fetch. Call it from your next turn on. You have read already: call it.',
    })
    expect(await find(run, 'select:write')).toHaveProperty('error')
  })

  test('a question in a sentence activates what its words mean, not what its syllables touch', async () => {
    const query = 'How can I look at the web page of a project?'
    expect((await find(runWith(tools), query)).output.activated).toEqual(['fetch'])
  })

  test('shows nothing the lists of the run rule out', async () => {
    expect((await find(runWith(tools, { deniedTools: ['git_log'] }), 'git')).output.activated).toEqual(['git_blame'])
    expect((await find(runWith(tools, { allowedTools: ['fetch'] }), 'git fetch')).output.activated).toEqual(['fetch'])
    expect(await find(runWith(tools, { deniedTools: ['fetch'] }), 'select:fetch')).toHaveProperty('error')
  })

  test('finds at most ten, and says what there is when nothing fits', async () => {
    const many = Array.from({ length: 30 }, (_, index) => deferred(`git_${index}`))
    expect((await find(runWith(many), 'git')).output.results).toHaveLength(10)
    expect((await find(runWith(tools), 'xyz')).output).toMatchObject({
      activated: [],
      message: expect.stringContaining('fetch'),
    })
  })
})

test('the offer stays the same array until something is activated, and grows at its end', async () => {
  const [core, one, two] = [tool('read'), deferred('one'), deferred('two')]
  const run = runWith([core, one, two])
  const base = [core]
  expect(offerActivated(base, run)).toBe(base)
  await find(run, 'select:two')
  const first = offerActivated(base, run)
  expect([first, offerActivated(base, run) === first]).toEqual([[core, two], true])
  await find(run, 'select:two')
  expect(offerActivated(base, run)).toBe(first)
  await find(run, 'select:one')
  expect(offerActivated(base, run)).toEqual([core, two, one])
})

describe('in a daemon', () => {
  let live: Booted | undefined
  let server: ChatServer | undefined
  afterEach(async () => {
    await live?.stop()
    await server?.close()
  })
  const select = { tool_calls: [{ name: 'find_tool', arguments: { query: 'select:web_fetch' } }] }
  const guess = { tool_calls: [{ name: 'web_fetch', arguments: { url: 'file:///x' } }] }

  test('a deferred tool is blocked, then found, then runs', async () => {
    live = await boot({ turns: [guess, select, guess, { content: 'done' }] })
    const events = await live.run('go')
    const seen = events.filter(({ type }) => type === 'tool.call.blocked' || type === 'tool.call.completed')
    expect(seen.map(({ type, payload }) => [type, payload?.tool, payload?.reason])).toEqual([
      ['tool.call.blocked', 'web_fetch', 'tool_not_activated'],
      ['tool.call.completed', 'find_tool', undefined],
      ['tool.call.completed', 'web_fetch', undefined],
    ])
    expect(seen[2]?.payload?.output).toContain('invalid_url')
  })

  test('denied tools stay denied whatever was searched', async () => {
    live = await boot({ turns: [select, guess, { content: 'done' }] })
    const events = await live.run({ prompt: 'go', denied_tools: ['web_fetch'] })
    expect(events.find(({ type }) => type === 'tool.call.blocked')?.payload).toMatchObject({
      reason: 'tool_denied_for_run',
    })
  })

  test('the model is given the activated tool from the next turn on', async () => {
    const offers: string[][] = []
    server = await startChatServer({
      respond: ({ body }) => {
        const { tools = [] } = body as { tools?: { function: { name: string } }[] }
        offers.push(tools.map(each => each.function.name))
        return offers.length === 1
          ? { toolCalls: [{ name: 'find_tool', arguments: '{"query":"select:web_fetch"}' }] }
          : { text: 'done' }
      },
    })
    live = await boot({ modelUrl: server.baseUrl })
    await live.run('go')
    expect(offers[1]).toEqual([...(offers[0] ?? []), 'web_fetch'])
  })

  test('GET /v1/tools lists every tool with tier, owner and parameters', async () => {
    live = await boot()
    const { status, body } = await live.request('GET', '/v1/tools')
    expect([status, body.count, body.configured_unavailable_toolsets, body.unavailable]).toEqual([
      200,
      body.tools.length,
      [],
      [],
    ])
    expect(body.tools.find(({ name }: { name: string }) => name === 'fetch')).toMatchObject({
      tier: 'deferred',
      owner: 'web',
      condition: 'web client installed',
      parameters: { type: 'object', required: ['url'] },
    })
    expect(body.tools.find(({ name }: { name: string }) => name === 'find_tool')).toMatchObject({
      tier: 'core',
      owner: 'core',
    })
  })
})

test('its only port is the catalog of the daemon', async () => {
  await expect(openPlugin(plugin)).rejects.toThrow(/tools/)
})
