import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Booted, boot } from '#test/kit/boot'
import { type ChatServer, type ChatTurn, startChatServer } from '#test/kit/chat-server'

/** Fields of a run request whose effect no plugin's own suite shows over HTTP. */

let dir = ''
let model: ChatServer
let live: Booted
let respond: (results: readonly string[]) => ChatTurn
beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'runwright-effects-')))
  respond = () => ({ text: 'done' })
  model = await startChatServer({
    respond: ({ body }) => {
      const messages = body?.messages as { role: string; content: string }[]
      return respond(messages.filter(({ role }) => role === 'tool').map(({ content }) => content))
    },
  })
  live = await boot({ modelUrl: model.baseUrl })
})
afterEach(async () => {
  await live.stop()
  await model.close()
  await rm(dir, { recursive: true, force: true })
})

/** Makes the calls, one a turn. */
const calling = (...calls: readonly (readonly [string, object])[]) => {
  respond = results => {
    const next = calls[results.length]
    return next
      ? { toolCalls: [{ id: `c${results.length}`, name: next[0], arguments: next[1] }] }
      : { text: JSON.stringify(results.map(result => result.slice(0, 300))) }
  }
}
const runOf = async (request: object) => {
  const events = await live.run({ prompt: 'go', ...request })
  return (await live.request('GET', `/v1/runs/${events[0]!.run_id}`)).body
}

test('what is left out has its default, and what is given is shown', async () => {
  const plain = await runOf({})
  expect(plain).toMatchObject({
    agent_id: 'default',
    conversation_id: plain.id,
    tenant_id: 'default',
    model: 'gpt-4.1-mini',
  })
  const given = { agent_id: 'scribe', conversation_id: 'talk', tenant_id: 'acme', model: 'some-model' }
  expect(await runOf(given)).toMatchObject(given)
  expect(await runOf({ agent_id: '', conversation_id: '', tenant_id: '', model: '' })).toMatchObject({
    agent_id: 'default',
    tenant_id: 'default',
    model: 'gpt-4.1-mini',
  })
})

test('a provider that nobody has fails the run by its name', async () => {
  const run = await runOf({ provider_name: 'nobody', allow_fallback: false })
  expect([run.status, run.error]).toEqual([
    'failed',
    expect.stringMatching(/^provider_name: there is no provider "nobody"; there are /),
  ])
  expect(model.calls).toEqual([])
})

test('allowed_tools offers those and what is always there, less what is denied', async () => {
  const offered = (): readonly string[] => {
    const tools = model.calls.at(-1)?.body?.tools as readonly { function: { name: string } }[] | undefined
    return (tools ?? []).map(tool => tool.function.name)
  }
  await live.run({ prompt: 'go', allowed_tools: ['read', 'ls', 'fetch'], denied_tools: ['ls'] })
  expect(offered().toSorted()).toEqual(['AskUserQuestion', 'find_tool', 'read'])
  await live.run({ prompt: 'go', denied_tools: ['bash', 'find_tool'] })
  expect(offered()).toContain('read')
  expect(offered().filter(name => ['bash', 'find_tool'].includes(name))).toEqual([])
})

test('workspace_path roots files and commands, extra_dirs open further places, and nothing else is', async () => {
  for (const name of ['root', 'extra', 'other']) {
    await mkdir(join(dir, name))
    await writeFile(join(dir, name, 'file'), `in ${name}\n`)
  }
  calling(
    ['read', { path: 'file' }],
    ['read', { path: join(dir, 'extra/file') }],
    ['write', { path: join(dir, 'extra/made'), content: 'x' }],
    ['read', { path: join(dir, 'other/file') }],
    [
      'bash',
      { command: `pwd; cat file; echo y > made; echo z > ${dir}/extra/by-bash; echo no > ${dir}/other/by-bash; true` },
    ],
  )
  const { output } = await runOf({ workspace_path: join(dir, 'root'), extra_dirs: [join(dir, 'extra')] })
  const [own, extra, written, other, bash] = JSON.parse(output)
  expect([own, extra, written]).toEqual([
    expect.stringContaining('in root'),
    expect.stringContaining('in extra'),
    expect.stringContaining('bytes_written'),
  ])
  expect(other).toContain('outside_workspace')
  expect(bash).toContain(`${dir}/root\\nin root`)
  const made = await Promise.all(
    ['root/made', 'extra/made', 'extra/by-bash', 'other/by-bash'].map(file =>
      readFile(join(dir, file), 'utf8').catch(() => 'not there'),
    ),
  )
  expect(made).toEqual(['y\n', 'x', 'z\n', 'not there'])
})
