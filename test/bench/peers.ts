import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { freePort, type SubjectPlan, startSubject } from './subject.js'

/** What can be measured. `ours` keeps runs and conversations in SQLite, `ours-memory` in memory. */
export const PEERS = ['ours', 'ours-memory', 'floor-daemon'] as const
export type Peer = (typeof PEERS)[number]

const DIST = resolve(import.meta.dirname, '../..')
const SHELL = { name: 'bash', args: '{"command":"true # $I"}' }

/** Starts a peer with everything it writes below `dir`. */
export async function startPeer(peer: Peer, dir: string, modelBaseUrl: string) {
  const workspace = join(dir, 'workspace')
  await mkdir(workspace, { recursive: true })
  await writeFile(join(workspace, 'sample.txt'), Array.from({ length: 40 }, (_, line) => `line ${line}\n`).join(''))
  const port = await freePort()
  return startSubject(
    peer === 'floor-daemon'
      ? floorPlan(dir, port, modelBaseUrl)
      : ourPlan(peer, { dir, workspace, port, modelBaseUrl }),
  )
}

function floorPlan(dir: string, port: number, modelBaseUrl: string): SubjectPlan {
  return {
    args: [join(DIST, 'test/bench/floor/daemon.js'), String(port), join(dir, 'floor.db'), modelBaseUrl],
    environment: {},
    cwd: dir,
    port,
    readTool: { name: 'echo', args: '{"text":"step $I"}' },
    shellTool: SHELL,
  }
}

interface OurPlace {
  readonly dir: string
  readonly workspace: string
  readonly port: number
  readonly modelBaseUrl: string
}

/** As an operator starts it: every plugin on, defaults everywhere, only auth off. */
function ourPlan(peer: Exclude<Peer, 'floor-daemon'>, { dir, workspace, port, modelBaseUrl }: OurPlace): SubjectPlan {
  return {
    args: [join(DIST, 'kernel/main.js'), 'serve'],
    environment: {
      HOME: dir,
      SVC_ADDR: `127.0.0.1:${port}`,
      SVC_AUTH_DISABLED: 'true',
      SVC_WORKSPACE: workspace,
      OPENAI_BASE_URL: modelBaseUrl,
      OPENAI_API_KEY: 'bench',
      SVC_LIVE_MODELS: 'false',
      ...(peer === 'ours' && { SVC_RUN_DB: join(dir, 'runs.db'), SVC_CONVERSATION_DB: join(dir, 'conversations.db') }),
    },
    cwd: workspace,
    port,
    readTool: { name: 'read', args: '{"path":"sample.txt","offset":$I}' },
    shellTool: SHELL,
  }
}
