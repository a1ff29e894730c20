import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type ChatServer, startChatServer } from './kit/chat-server.js'
import { runCommand, serveCommand } from './kit/cli-process.js'

const undos: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const undo of undos.splice(0).reverse()) await undo()
})

interface Check {
  readonly name: string
  readonly state: string
  readonly says: string
}

/** Somewhere to be, and a model that says this. */
async function given(turn: Parameters<typeof startChatServer>[0]) {
  const dir = await mkdtemp(join(tmpdir(), 'runwright-doctor-'))
  undos.push(() => rm(dir, { recursive: true, force: true }))
  const server = await startChatServer(turn)
  undos.push(() => server.close())
  const environment = {
    HOME: dir,
    SVC_ADDR: '127.0.0.1:1',
    SVC_MODEL: 'gpt4',
    SVC_LIVE_MODELS: 'false',
    OPENAI_API_KEY: 'sk-doctor',
    OPENAI_BASE_URL: server.baseUrl,
  }
  return { dir, server, environment }
}

async function modelCheck(dir: string, environment: Readonly<Record<string, string>>): Promise<Check | undefined> {
  const { out } = await runCommand(['doctor', '--json'], { cwd: dir, environment })
  return (JSON.parse(out) as { readonly checks: readonly Check[] }).checks.find(({ name }) => name === 'model')
}

const asked = ({ calls }: ChatServer) =>
  calls.map(({ body, headers }) => [body?.model, body?.tools, headers.authorization])

test('without a daemon doctor has the default model asked over its real wire, and leaves nothing behind', async () => {
  const { dir, server, environment } = await given({ turns: [{ text: 'ready' }] })
  expect(await modelCheck(dir, environment)).toMatchObject({
    state: 'ok',
    says: expect.stringMatching(/^gpt-4\.1 of openai answered in \d+ ms$/),
  })
  expect(asked(server)).toEqual([['gpt-4.1', undefined, 'Bearer sk-doctor']])
  // The sandbox check beside it has made the place of caches.
  expect((await readdir(dir)).filter(name => name !== '.cache')).toEqual([])
})

test('what a daemon holds for its state stays, also while it is empty', async () => {
  const { dir, environment } = await given({ turns: [{ text: 'ready' }] })
  await mkdir(join(dir, '.runwright'))
  expect(await modelCheck(dir, environment)).toMatchObject({ state: 'ok' })
  expect(await readdir(dir)).toContain('.runwright')
})

test('a refused key is told in the words of the provider, without the key', async () => {
  const { dir, environment } = await given({ turns: [{ status: 401, errorMessage: 'Incorrect API key: sk-doctor' }] })
  const check = await modelCheck(dir, environment)
  expect(check).toMatchObject({ state: 'fail', says: expect.stringContaining('401') })
  expect(check?.says).not.toContain('sk-doctor')
})

test('where a daemon answers it is the one that is asked', async () => {
  const { dir, server, environment } = await given({ turns: [{ text: 'ready' }] })
  const daemon = await serveCommand([], {
    cwd: dir,
    environment: { ...environment, SVC_ADDR: '127.0.0.1:0', SVC_AUTH_DISABLED: 'true' },
  })
  undos.push(daemon.stop)
  expect(await modelCheck(dir, { HOME: dir, SVC_URL: daemon.url })).toMatchObject({ state: 'ok' })
  expect(server.calls).toHaveLength(1)
})
