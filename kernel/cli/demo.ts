import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '#contracts/errors'
import { createApiClient } from './api-client.js'
import { complain } from './complain.js'
import type { Terminal } from './environment.js'
import { EXIT } from './exit-code.js'
import { startAndWatch } from './run/start-and-watch.js'

/** A daemon the demo may use and must stop. */
export interface DemoDaemon {
  readonly url: string
  /** Resolves when its port is free and its files are closed. */
  stop(): Promise<void>
}

export interface DemoOptions {
  /** Starts a daemon with exactly these variables as its terminal. */
  startDaemon(variables: Readonly<Record<string, string>>, directory: string): Promise<DemoDaemon>
  /** Folder with `demo.json` and `demo-without-shell.json`. */
  readonly fakeTurnsDir: string
  /** Why commands cannot be confined on this machine; undefined when they can. */
  sandboxProblem(): Promise<string | undefined>
}

/**
 * Shows a whole run on this machine: a daemon on a free loopback port, a scripted model, a workspace that did not exist
 * before and does not afterwards. Resolves with the exit code.
 */
export async function runDemo(terminal: Terminal, options: DemoOptions): Promise<number> {
  const say = (text: string) => terminal.stdout.write(`${text}\n`)
  // Held from before the first trace to after the last: an interrupt ends the demo, never its tidying.
  let isInterrupted = false
  const undo = terminal.onInterrupt(() => {
    isInterrupted = true
  })
  const place = await mkdtemp(join(tmpdir(), 'runwright-demo-'))
  const workspace = join(place, 'workspace')
  let daemon: DemoDaemon | undefined
  try {
    await mkdir(workspace)
    const problem = await options.sandboxProblem()
    const turns = problem === undefined ? 'demo.json' : 'demo-without-shell.json'
    if (problem !== undefined) say(`(Commands cannot be confined on this machine, so the demo runs none: ${problem})\n`)
    const variables = {
      SVC_ADDR: '127.0.0.1:0',
      SVC_PROVIDER: 'fake',
      SVC_FAKE_TURNS: join(options.fakeTurnsDir, turns),
      SVC_WORKSPACE: workspace,
      SVC_RUN_DB: join(place, 'runs.db'),
      SVC_AUTH_DISABLED: 'true',
      SVC_WATCH_ENABLED: 'false',
      SVC_LOG_LEVEL: 'error',
    }
    daemon = await options.startDaemon(variables, place)
    if (isInterrupted) return EXIT.interrupted
    say(`A daemon listens on ${daemon.url}; a scripted model answers instead of a real one.\n`)
    say(`$ runwright run "${PROMPT}"`)
    const code = await startAndWatch(terminal, PROMPT, { baseUrl: daemon.url, allowFallback: true })
    if (code === 0) say(await farewell(daemon.url))
    return code
  } catch (error) {
    return complain(terminal, `the demo could not run: ${messageOf(error)}`)
  } finally {
    await daemon?.stop()
    await rm(place, { recursive: true, force: true })
    undo()
  }
}

const PROMPT = 'Write a small program that greets me, and run it.'

async function farewell(baseUrl: string): Promise<string> {
  const reply = await createApiClient(baseUrl, undefined).request<{ readonly runs: readonly unknown[] }>(
    'GET',
    '/v1/runs',
  )
  const stored =
    reply.kind === 'answered' ? `The daemon stored ${reply.body.runs.length} run with all its events. ` : ''
  return `
${stored}Everything the demo made is removed again.

The same with a real model, in two terminals:

  export OPENAI_API_KEY=<your key>      # any OpenAI-compatible server: also set OPENAI_BASE_URL and SVC_MODEL
  npm start                             # the daemon, on 127.0.0.1:8080

  npx runwright run "Explain this repository" --workspace .

With curl instead: examples/walkthrough.sh. Everything else: README.md.`
}
