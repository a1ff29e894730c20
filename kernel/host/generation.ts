import type { DependencyContainer } from 'tsyringe'
import { messageOf } from '#contracts/errors'
import type { PluginLog, PluginManifest, Undo } from '#contracts/plugin'
import { withLimit } from '../waits.js'
import type { CarriedSlots } from './carried.js'
import { Contributions } from './contributions.js'
import { pluginFault } from './fault.js'
import { createScope } from './scope.js'

/** What a generation is opened with. */
export interface GenerationGrants {
  readonly manifest: PluginManifest
  /** Names the code. */
  readonly code: string
  /** Counts generations of all plugins: never used twice, greater is younger. */
  readonly number: number
  /** Checked and frozen. */
  readonly config: unknown
  /** Holds the kernel's services; the generation makes a child of it. */
  readonly root: DependencyContainer
  /** Services of plugins opened before; they win over the kernel's. */
  readonly granted: ReadonlyMap<symbol, unknown>
  readonly carried: CarriedSlots
  readonly log: PluginLog
  readonly limitMs: number
}

/**
 * One plugin's code, config and granted ports, immutable once opened. Epochs hold it; it is torn down when the last one
 * lets go. Its background work runs from `activate` to `supersede`, everything else until then.
 */
export class Generation {
  readonly name: string
  /** `<plugin>@<code>#<number>`. */
  readonly id: string
  readonly number: number
  readonly manifest: PluginManifest
  readonly contributions = new Contributions()
  /** What last went wrong in background work, a watching tap or an undo. */
  lastError: string | undefined
  readonly #grants: GenerationGrants
  readonly #container: DependencyContainer
  readonly #undos: Undo[] = []
  readonly #disposers = new Map<string, ((value: unknown) => void | Promise<void>) | undefined>()
  readonly #superseded = new AbortController()
  readonly #disposing = new AbortController()
  #running: Promise<unknown> = Promise.resolve()
  #holders = 0
  #disposal: Promise<void> | undefined

  private constructor(grants: GenerationGrants) {
    this.#grants = grants
    this.manifest = grants.manifest
    this.name = grants.manifest.name
    this.number = grants.number
    this.id = `${this.name}@${grants.code}#${grants.number}`
    this.#container = grants.root.createChildContainer()
    const { needs = [], optional = [], gathers = [] } = this.manifest
    for (const { id } of [...needs, ...optional, ...gathers])
      if (grants.granted.has(id)) this.#container.register(id, { useValue: grants.granted.get(id) })
    grants.carried.hold()
  }

  /** Registers the plugin. When that fails or takes too long, what it had acquired is undone before this rejects. */
  static async open(grants: GenerationGrants): Promise<Generation> {
    const generation = new Generation(grants)
    try {
      await generation.#register()
    } catch (error) {
      await generation.dispose()
      throw pluginFault(generation.name, `failed to register: ${messageOf(error)}`, error)
    }
    return generation
  }

  /** Starts background work once `predecessor` has ended, unless this generation is superseded by then. */
  activate(predecessor: Promise<unknown> = Promise.resolve()): void {
    this.#grants.carried.adopt(this.#disposers)
    this.#running = predecessor.then(() => {
      if (this.#superseded.signal.aborted) return
      return Promise.all(this.contributions.background.map(({ name, work }) => this.#runBackground(name, work)))
    })
  }

  /** Tells background work to stop; resolves when it has. Everything else stays usable. */
  supersede(): Promise<unknown> {
    this.#superseded.abort()
    return this.#running
  }

  /** The same, but waits no longer than the limit; what does not stop by then is noted. Never rejects. */
  async stop(): Promise<void> {
    await withLimit(this.supersede(), this.#grants.limitMs, 'background work').catch(error =>
      this.fault('stopping', error),
    )
  }

  hold(): void {
    this.#holders += 1
  }

  async release(): Promise<void> {
    this.#holders -= 1
    if (this.#holders === 0) await this.dispose()
  }

  /** Undoes everything in reverse order, whatever fails on the way. Never rejects; once is enough. */
  dispose(): Promise<void> {
    this.#disposal ??= this.#dispose()
    return this.#disposal
  }

  /** Notes and logs what went wrong where nobody waits for an answer. */
  fault(where: string, error: unknown): void {
    this.lastError = `${where}: ${messageOf(error)}`
    this.#grants.log.error({ plugin: this.name, where, error: messageOf(error) }, 'plugin error')
  }

  async #register(): Promise<void> {
    const { manifest, config, log, limitMs, carried } = this.#grants
    const { scope, seal } = createScope({
      manifest,
      config,
      log: namedLog(log, this.name),
      signal: this.#disposing.signal,
      contributions: this.contributions,
      lookUp: id => (this.#container.isRegistered(id, true) ? this.#container.resolve(id) : undefined),
      carry: (key, create, dispose) => {
        this.#disposers.set(key, dispose)
        return carried.take(key, create, dispose)
      },
      defer: undo => this.#defer(undo),
    })
    try {
      await withLimit(
        (async () => manifest.register(scope as Parameters<typeof manifest.register>[0]))(),
        limitMs,
        'register',
      )
    } finally {
      seal()
    }
  }

  /** What is acquired after the end (a register that was given up, late background work) is undone at once. */
  #defer(undo: Undo): void {
    if (this.#disposing.signal.aborted) void this.#undo(undo)
    else this.#undos.push(undo)
  }

  async #runBackground(name: string, work: (superseded: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#superseded
    try {
      await work(signal)
    } catch (error) {
      if (!signal.aborted) this.fault(`background ${name}`, error)
    }
  }

  async #dispose(): Promise<void> {
    await this.stop()
    this.#disposing.abort()
    for (const undo of this.#undos.splice(0).reverse()) await this.#undo(undo)
    this.#container.reset()
    await this.#grants.carried.release()
  }

  async #undo(undo: Undo): Promise<void> {
    try {
      await withLimit((async () => undo())(), this.#grants.limitMs, 'an undo')
    } catch (error) {
      this.fault('closing', error)
    }
  }
}

const namedLog = (log: PluginLog, plugin: string): PluginLog => ({
  debug: (facts, message) => log.debug({ plugin, ...facts }, message),
  info: (facts, message) => log.info({ plugin, ...facts }, message),
  warn: (facts, message) => log.warn({ plugin, ...facts }, message),
  error: (facts, message) => log.error({ plugin, ...facts }, message),
})
