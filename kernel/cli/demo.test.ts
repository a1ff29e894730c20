import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runDemo } from './demo.js'
import { openProtocolServer } from './testing/protocol-server.js'
import { testEnvironment } from './testing/test-environment.js'

/** The demo against a scripted daemon, and what it left behind. */
async function demo(options: { readonly sandboxProblem?: string; readonly fails?: boolean }) {
  const { environment, out, err } = testEnvironment()
  let variables: Readonly<Record<string, string>> = {}
  let place = ''
  let stops = 0
  const server = await openProtocolServer({ events: [{ type: 'run.completed', payload: { output: 'Done.' } }] })
  const code = await runDemo(environment, {
    fakeTurnsDir: '/turns',
    sandboxProblem: async () => options.sandboxProblem,
    startDaemon: async (given, directory) => {
      variables = given
      place = directory
      if (options.fails) throw new Error('no port is free')
      return {
        url: server.baseUrl,
        stop: async () => {
          stops += 1
          await server.close()
        },
      }
    },
  })
  if (options.fails) await server.close()
  return { code, out: out.text(), err: err.text(), variables, stops, isTidy: place !== '' && !existsSync(place) }
}

test('the demo shows a run, says how to go on, stops its daemon and leaves nothing behind', async () => {
  const { out, variables, ...rest } = await demo({})
  expect(rest).toEqual({ code: 0, err: '', stops: 1, isTidy: true })
  expect(out).toContain('Done.')
  expect(out).toContain('OPENAI_API_KEY')
  expect(variables).toMatchObject({ SVC_ADDR: '127.0.0.1:0', SVC_FAKE_TURNS: '/turns/demo.json' })
})

test('without a sandbox it shows a run that needs none, and says why', async () => {
  const { out, variables } = await demo({ sandboxProblem: 'bubblewrap is missing' })
  expect(out).toContain('bubblewrap is missing')
  expect(variables.SVC_FAKE_TURNS).toBe('/turns/demo-without-shell.json')
})

test('a daemon that does not start is told, and nothing is left', async () => {
  expect(await demo({ fails: true })).toMatchObject({
    code: 1,
    err: expect.stringContaining('no port is free'),
    isTidy: true,
  })
})
