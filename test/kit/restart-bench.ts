import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answeredBy } from './answered-by.js'
import { createClient } from './boot.js'
import { type ChatScript, type ChatServer, startChatServer } from './chat-server.js'
import { type DaemonProcess, spawnDaemon } from './daemon-process.js'

export interface RestartBenchOptions {
  /** Starts a model server of the bench's own. */
  readonly respond?: Extract<ChatScript, { respond: unknown }>['respond']
  /** A model server of somebody else's. */
  readonly modelUrl?: string
  /** Plugins of the test's own: name → text of `index.js`. */
  readonly plugins?: Readonly<Record<string, string>>
  /** Of every daemon of the bench. */
  readonly settings?: Readonly<Record<string, unknown>>
}

export type DaemonClient = ReturnType<typeof createClient>

/** A daemon that is killed and comes back: processes one after the other over one directory with its databases. */
export class RestartBench {
  readonly workspace: string
  #daemon: DaemonProcess | undefined

  private constructor(
    readonly dir: string,
    private readonly options: RestartBenchOptions,
    private readonly server: ChatServer | undefined,
  ) {
    this.workspace = join(dir, 'workspace')
  }

  static async open(options: RestartBenchOptions = {}): Promise<RestartBench> {
    const dir = await mkdtemp(join(tmpdir(), 'runwright-restart-'))
    await mkdir(join(dir, 'workspace'))
    await mkdir(join(dir, 'plugins'))
    for (const [name, text] of Object.entries(options.plugins ?? {})) {
      await mkdir(join(dir, 'plugins', name))
      await writeFile(join(dir, 'plugins', name, 'index.js'), text)
    }
    const { respond } = options
    return new RestartBench(dir, options, respond && (await startChatServer({ respond })))
  }

  /** The process started last. */
  get daemon(): DaemonProcess {
    if (!this.#daemon) throw new Error('start a daemon first')
    return this.#daemon
  }
  /** The model server of the bench. */
  get model(): ChatServer {
    if (!this.server) throw new Error('give `respond` for a model server')
    return this.server
  }

  /** Starts a process; `settings` are for this one only. */
  async start(settings: Readonly<Record<string, unknown>> = {}): Promise<DaemonClient> {
    const { dir, workspace, options, server } = this
    const modelUrl = options.modelUrl ?? server?.baseUrl
    this.#daemon = await spawnDaemon({
      home: dir,
      cwd: dir,
      environment: modelUrl === undefined ? {} : answeredBy(modelUrl),
      settings: {
        addr: '127.0.0.1:0',
        workspace,
        watch_enabled: false,
        auth_disabled: true,
        log_level: 'error',
        run_db: join(dir, 'runs.db'),
        conversation_db: join(dir, 'conversations.db'),
        plugin_dirs: [join(dir, 'plugins')],
        ...options.settings,
        ...settings,
      },
    })
    return createClient(this.#daemon.url)
  }

  /** Kills the process with no chance to tidy up, and starts the next. */
  async restart(settings?: Readonly<Record<string, unknown>>): Promise<DaemonClient> {
    await this.daemon.kill()
    return this.start(settings)
  }

  /** Kills what runs and removes the directory. */
  async close(): Promise<void> {
    await this.#daemon?.kill()
    await this.server?.close()
    await rm(this.dir, { recursive: true, force: true })
  }
}
