import { Failure, messageOf } from '#contracts/errors'
import { Epoch } from './epoch.js'
import { pluginAtFault, pluginFault, sentences, switchOffHint } from './fault.js'
import { DEFAULT_LIMIT_MS, type HostOptions, type PluginSource } from './host-options.js'
import { type LoadedPlugin, Loader } from './load.js'
import { disposeAll, type Member, Opener, type Plan } from './opener.js'
import { additionsOf, NO_ADDITIONS, type PluginReport, type RefusedPlugin, type SyncReport } from './report.js'
import { Shelf } from './shelf.js'

interface Fault {
  readonly origin: PluginSource['origin']
  readonly message: string
}

/**
 * Loads plugins and swaps epochs. There is one current epoch; work leases it and keeps it to its end. Whatever goes wrong
 * while a new one is made leaves the current one as it was.
 */
export class PluginHost {
  readonly #options: HostOptions
  readonly #shelf: Shelf
  readonly #loader: Loader
  readonly #opener: Opener
  readonly #alive = new Set<Epoch>()
  #current: Epoch | undefined
  #members: ReadonlyMap<string, Member> = new Map()
  #refused: readonly RefusedPlugin[] = []
  #off: readonly PluginSource[] = []
  /** What the last sync held against plugins. */
  #faults: ReadonlyMap<string, Fault> = new Map()
  #queue: Promise<unknown> = Promise.resolve()
  #pruning: Promise<void> | undefined
  #isClosed = false

  constructor(options: HostOptions) {
    this.#options = options
    const { limitMs = DEFAULT_LIMIT_MS } = options
    this.#shelf = new Shelf(options.shelf)
    this.#loader = new Loader(this.#shelf, limitMs)
    this.#opener = new Opener({ ...options, limitMs })
  }

  /** The epoch new work starts in. Throws before the first sync has succeeded. */
  get current(): Epoch {
    if (this.#current === undefined) throw new Error('the plugins are not loaded yet')
    return this.#current
  }

  /** Epochs that are current or still leased, or just closing. */
  get epochsAlive(): number {
    return this.#alive.size
  }

  /**
   * Brings the running epoch in line with the plugin folders and the configuration; one at a time. Rejects with a message
   * that names the plugin at fault; then everything runs on as before. The first sync says how to switch it off as well.
   */
  sync(): Promise<SyncReport> {
    const work = this.#queue.then(() => this.#sync())
    this.#queue = work.then(
      () => undefined,
      () => undefined,
    )
    return work
  }

  /** What is running, refused, broken or switched off, by name. */
  plugins(): readonly PluginReport[] {
    const rows = new Map<string, PluginReport>()
    for (const { name, origin } of this.#off) rows.set(name, { name, origin, state: 'off', adds: NO_ADDITIONS })
    for (const [name, { origin, message }] of this.#faults)
      rows.set(name, { name, origin, state: 'failed', adds: NO_ADDITIONS, last_error: message })
    for (const { plugin, origin, because } of this.#refused)
      rows.set(plugin, { name: plugin, origin, state: 'refused', adds: NO_ADDITIONS, last_error: because })
    for (const [name, { generation, loaded }] of this.#members) {
      const error = this.#faults.get(name)?.message ?? generation.lastError
      rows.set(name, {
        name,
        origin: loaded.source.origin,
        generation: generation.id,
        state: 'running',
        adds: additionsOf(generation, this.current.app.routes),
        ...(error === undefined ? {} : { last_error: error }),
      })
    }
    return [...rows.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /**
   * Notes an error that nobody caught with the plugin whose code it comes from, by its stack. False: it comes from no
   * running plugin.
   */
  blame(error: unknown): boolean {
    const name = this.#shelf.pluginIn(error instanceof Error ? (error.stack ?? '') : '')
    const generation = name === undefined ? undefined : this.#members.get(name)?.generation
    generation?.fault('nobody caught', error)
    return generation !== undefined
  }

  /** Stops background work at once and resolves when every epoch has closed, which waits for their leases. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#queue
    await this.#pruning
    for (const { generation } of this.#members.values()) void generation.supersede()
    this.#current?.retire()
    await Promise.all([...this.#alive].map(({ closed }) => closed))
    this.#shelf.release()
  }

  async #sync(): Promise<SyncReport> {
    if (this.#isClosed) throw new Error('the plugin host is closed')
    let sources: readonly PluginSource[] = []
    try {
      const found = await this.#options.sources()
      sources = found.filter(({ isOff }) => isOff !== true)
      const plan = await this.#opener.open(await this.#load(sources), this.#members)
      const leaving = [...this.#members.values()].filter(
        ({ generation }) => plan.members.get(generation.name)?.generation !== generation,
      )
      const isChanged = this.#current === undefined || plan.opened.length > 0 || leaving.length > 0
      if (isChanged) await this.#swap(plan, leaving)
      this.#off = found.filter(({ isOff }) => isOff === true)
      this.#noteRefused(plan.refused)
      this.#faults = new Map()
      this.#pruneOnce()
      return {
        epoch: this.current.number,
        isChanged,
        opened: plan.opened.map(({ name }) => name),
        closed: leaving.map(({ generation }) => generation.name).filter(name => !plan.members.has(name)),
        refused: plan.refused,
      }
    } catch (error) {
      throw this.#failed(error, sources)
    }
  }

  async #load(sources: readonly PluginSource[]): Promise<readonly LoadedPlugin[]> {
    const dirs = new Map<string, string>()
    for (const { name, dir } of sources) {
      const other = dirs.get(name)
      if (other !== undefined)
        throw pluginFault(name, `is there twice: ${other} and ${dir}. Rename or remove one of the folders`)
      dirs.set(name, dir)
    }
    const outcomes = await Promise.allSettled(sources.map(source => this.#loader.load(source)))
    const errors = outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []))
    if (errors.length > 1) throw new AggregateError(errors, sentences(errors.map(messageOf)))
    if (errors.length === 1) throw errors[0]
    return outcomes.flatMap(outcome => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  }

  /** Composes the new epoch, makes it current with one assignment, and only then touches the old one. */
  async #swap(plan: Plan, leaving: readonly Member[]): Promise<void> {
    const old = this.#current
    const next = await this.#compose(plan, (old?.number ?? 0) + 1)
    this.#alive.add(next)
    void next.closed.then(() => this.#alive.delete(next))
    this.#current = next
    this.#members = plan.members
    const stopping = new Map(leaving.toReversed().map(({ generation }) => [generation.name, generation.supersede()]))
    // Work that does not stop delays its own successor only: that one starts when it has ended.
    await Promise.all(leaving.map(({ generation }) => generation.stop()))
    for (const generation of plan.opened) generation.activate(stopping.get(generation.name))
    old?.retire()
    const changes = old && {
      opened: plan.opened.map(({ id }) => id),
      closed: leaving.map(({ generation }) => generation.id),
    }
    this.#options.log.info({ epoch: next.number, plugins: plan.members.size, ...changes }, 'epoch swapped')
  }

  async #compose({ members, opened }: Plan, number: number): Promise<Epoch> {
    try {
      const { kernelPorts, compose, log } = this.#options
      const generations = [...members.values()].map(({ generation }) => generation)
      return await Epoch.compose({ number, generations, kernelPorts, compose, log })
    } catch (error) {
      await disposeAll(opened)
      const [only, ...others] = opened.filter(({ contributions }) => contributions.routes.length > 0)
      throw pluginAtFault(error) !== undefined || only === undefined || others.length > 0
        ? error
        : pluginFault(only.name, `cannot be composed with the others: ${messageOf(error)}`, error)
    }
  }

  #failed(error: unknown, sources: readonly PluginSource[]): unknown {
    const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error]
    const faults = new Map<string, Fault>()
    for (const one of errors) {
      const name = pluginAtFault(one)
      const source = sources.find(candidate => candidate.name === name)
      if (source !== undefined) faults.set(source.name, { origin: source.origin, message: messageOf(one) })
    }
    this.#faults = faults
    const plugins = [...faults.keys()]
    if (this.#current !== undefined) {
      this.#options.log.error({ plugins, error: messageOf(error) }, 'plugins not reloaded, the old ones run on')
      return error
    }
    if (plugins.length === 0) return error
    const message = sentences([messageOf(error), switchOffHint(plugins)])
    return new Failure('invalid_request', message, { cause: error, details: { plugins } })
  }

  /** Says once, not at every sync, that a plugin is left out and why. */
  #noteRefused(refused: readonly RefusedPlugin[]): void {
    const known = new Map(this.#refused.map(({ plugin, because }) => [plugin, because]))
    for (const { plugin, because } of refused)
      if (known.get(plugin) !== because) this.#options.log.warn({ plugin, because }, 'plugin refused')
    this.#refused = refused
  }

  #pruneOnce(): void {
    const used = new Set([...this.#members.values()].map(({ loaded }) => loaded.stagedDir))
    this.#pruning ??= this.#shelf.prune(dir => used.has(dir))
  }
}
