import { messageOf } from '#contracts/errors'
import type { HookTable } from '#contracts/hooks'
import type { PluginLog, Port } from '#contracts/plugin'
import type { ToolDefinition } from '#contracts/tool/tool'
import type { ComposeApp, ComposedApp, PortLookup } from './composed-app.js'
import { clash } from './fault.js'
import type { Generation } from './generation.js'
import { buildHookTable } from './hook-table.js'

/** What an epoch is composed of. */
export interface EpochParts {
  readonly number: number
  readonly generations: readonly Generation[]
  readonly kernelPorts: ReadonlyMap<symbol, unknown>
  readonly compose: ComposeApp
  readonly log: PluginLog
}

/**
 * A frozen set of generations: one hook table, one tool table, one app, one answer per port. It stays whole until it is
 * retired and the last lease was returned; then its app closes and generations nobody else holds are torn down.
 */
export class Epoch implements PortLookup {
  readonly number: number
  readonly generations: readonly Generation[]
  readonly hooks: HookTable
  /** By tool name, in the order of plugin names. */
  readonly tools: ReadonlyMap<string, ToolDefinition>
  readonly app: ComposedApp
  /** Run request fields some running plugin gives effect to. */
  readonly honoured: ReadonlySet<string>
  /** Resolves when everything is closed. Never rejects. */
  readonly closed: Promise<void>
  readonly #lookup: PortLookup
  readonly #log: PluginLog
  #resolveClosed: () => void = () => undefined
  #leases = 0
  #state: 'current' | 'retired' | 'closing' = 'current'

  private constructor(parts: EpochParts, tools: Epoch['tools'], lookup: PortLookup, app: ComposedApp) {
    this.number = parts.number
    this.generations = parts.generations
    this.hooks = buildHookTable(parts.generations)
    this.tools = tools
    this.app = app
    this.honoured = new Set(parts.generations.flatMap(({ manifest }) => manifest.honours ?? []))
    this.#lookup = lookup
    this.#log = parts.log
    this.closed = new Promise(resolve => {
      this.#resolveClosed = resolve
    })
    for (const generation of parts.generations) generation.hold()
  }

  /** Fails on tools or routes that clash; nothing is held then. */
  static async compose(parts: EpochParts): Promise<Epoch> {
    const byName = parts.generations.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    const tools = toolTable(byName)
    const lookup = createLookup(parts)
    const contributions = byName
      .filter(({ contributions }) => contributions.routes.length > 0)
      .map(({ name, number, contributions }) => ({ plugin: name, number, routes: contributions.routes }))
    return new Epoch(parts, tools, lookup, await parts.compose(contributions, lookup))
  }

  port<T>(port: Port<T>): T | undefined {
    return this.#lookup.port(port)
  }

  /** Keeps this epoch alive until the returned function is called; calling it again does nothing. */
  lease(): () => void {
    if (this.#state === 'closing') throw new Error(`epoch ${this.number} has closed; lease the current one`)
    this.#leases += 1
    let held: Epoch | undefined = this
    return () => {
      const epoch = held
      held = undefined
      if (epoch !== undefined) epoch.#return()
    }
  }

  /** A newer epoch has taken over: close when the last lease is returned. */
  retire(): void {
    if (this.#state === 'current') this.#state = 'retired'
    this.#closeIfDone()
  }

  #return(): void {
    this.#leases -= 1
    this.#closeIfDone()
  }

  #closeIfDone(): void {
    if (this.#state !== 'retired' || this.#leases > 0) return
    this.#state = 'closing'
    void this.#close()
  }

  async #close(): Promise<void> {
    try {
      await this.app.close()
    } catch (error) {
      this.#log.error({ epoch: this.number, error: messageOf(error) }, 'the app of an epoch did not close cleanly')
    }
    for (const generation of this.generations.toReversed()) await generation.release()
    this.#resolveClosed()
  }
}

function toolTable(generations: readonly Generation[]): ReadonlyMap<string, ToolDefinition> {
  const tools = new Map<string, ToolDefinition>()
  const owners = new Map<string, Generation>()
  for (const generation of generations)
    for (const tool of generation.contributions.tools) {
      const owner = owners.get(tool.name)
      if (owner !== undefined) throw clash(generation, owner, `adds the tool ${tool.name}`)
      owners.set(tool.name, generation)
      tools.set(tool.name, tool)
    }
  return tools
}

function createLookup({ generations, kernelPorts }: EpochParts): PortLookup {
  const services = new Map(kernelPorts)
  for (const { contributions } of generations) for (const [id, value] of contributions.services) services.set(id, value)
  return { port: <T>({ id }: Port<T>) => services.get(id) as T | undefined }
}
