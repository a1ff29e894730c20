import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openProtocolServer, RUN_ID } from './testing/protocol-server.js'

const program = join(import.meta.dirname, 'testing/spawned-cli.js')
const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const step of undo.splice(0)) await step()
})

/** The command line in a process of its own, once it shows the run. */
async function watching(cancelAnswers: boolean) {
  const server = await openProtocolServer({
    events: [{ type: 'run.started' }, { type: 'assistant.message.delta', payload: { content: 'working' } }],
    answer: ({ path }) =>
      path.endsWith('/cancel') && !cancelAnswers ? { status: 200, body: { status: 'cancelling' } } : undefined,
  })
  const child = spawn(process.execPath, [program, server.baseUrl, 'run', 'p'], { stdio: ['ignore', 'pipe', 'pipe'] })
  undo.push(() => child.kill('SIGKILL'), server.close)
  const text = { out: '', err: '' }
  child.stdout.on('data', chunk => {
    text.out += chunk
  })
  child.stderr.on('data', chunk => {
    text.err += chunk
  })
  const left = once(child, 'close').then(([code]) => code as number)
  await expect.poll(() => text.out, { timeout: 10_000 }).toContain('working')
  return { server, child, text, left }
}

test.each(['SIGINT', 'SIGTERM'] as const)('%s cancels the run, waits for its end and leaves with 130', async signal => {
  const { server, child, text, left } = await watching(true)
  child.kill(signal)
  expect({ code: await left, out: text.out }).toEqual({ code: 130, out: expect.stringContaining('■ cancelled') })
  expect(server.seen.map(({ path }) => path)).toContain(`/v1/runs/${RUN_ID}/cancel`)
})

test('a second SIGINT leaves at once, though the run goes on', async () => {
  const { child, text, left } = await watching(false)
  child.kill('SIGINT')
  await expect.poll(() => text.err).toContain('cancelling')
  child.kill('SIGINT')
  expect(await left).toBe(130)
})

test('help for a reader that has left ends quietly', async () => {
  const child = spawn(process.execPath, [program, 'http://127.0.0.1:9', '--help'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let err = ''
  child.stderr.on('data', chunk => {
    err += chunk
  })
  child.stdout.destroy()
  const [code] = await once(child, 'close')
  expect({ code, err }).toEqual({ code: 0, err: '' })
})

test('a reader that closes the pipe ends the command quietly', async () => {
  const { child, text, left } = await watching(true)
  child.stdout.destroy()
  child.kill('SIGINT')
  expect({ isDone: typeof (await left), err: text.err.includes('Error') }).toEqual({ isDone: 'number', err: false })
})
