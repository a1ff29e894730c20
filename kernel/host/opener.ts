import 'reflect-metadata'
import { isDeepStrictEqual } from 'node:util'
import { container, type DependencyContainer } from 'tsyringe'
import { messageOf } from '#contracts/errors'
import type { Port } from '#contracts/plugin'
import { CarriedSlots } from './carried.js'
import { checkConfig } from './check-config.js'
import { clash, pluginFault } from './fault.js'
import { Generation } from './generation.js'
import type { HostOptions } from './host-options.js'
import type { LoadedPlugin } from './load.js'
import { openingOrder } from './order.js'
import type { RefusedPlugin } from './report.js'

/** A plugin of an epoch. */
export interface Member {
  readonly loaded: LoadedPlugin
  readonly generation: Generation
  /** Code, raw config and the generations of its providers: deeply equal when the generation may be re-used. */
  readonly identity: readonly unknown[]
}

/** The generations an epoch is to be composed of. */
export interface Plan {
  /** Each after those it gets services from. */
  readonly members: ReadonlyMap<string, Member>
  /** Those that were not there before; whoever drops the plan disposes them, last first. */
  readonly opened: readonly Generation[]
  readonly refused: readonly RefusedPlugin[]
}

type OpenerOptions = Pick<HostOptions, 'configure' | 'kernelPorts' | 'log'> & { readonly limitMs: number }

/** Opens generations in needs-order and re-uses those for which nothing has changed. */
export class Opener {
  readonly #options: OpenerOptions
  /** Holds the kernel's services; each generation has a child of it. */
  readonly #root: DependencyContainer = container.createChildContainer()
  readonly #carried = new Map<string, CarriedSlots>()
  #generations = 0

  constructor(options: OpenerOptions) {
    this.#options = options
    for (const [id, service] of options.kernelPorts) this.#root.register(id, { useValue: service })
  }

  /** Fails with the fault of the first plugin that cannot be opened; everything opened before it is disposed by then. */
  async open(plugins: readonly LoadedPlugin[], running: ReadonlyMap<string, Member>): Promise<Plan> {
    const { order, circles } = openingOrder(plugins)
    const granted = new Map<symbol, unknown>()
    const owners = new Map<symbol, readonly Generation[]>()
    const members = new Map<string, Member>()
    const opened: Generation[] = []
    const refused: RefusedPlugin[] = []
    try {
      for (const loaded of order) {
        const { name, origin } = loaded.source
        const because = this.#refusal(loaded, plugins, granted, circles.get(name))
        if (because !== undefined) {
          if (running.has(name) && !isLeftAlone(running, name, members, plugins))
            throw pluginFault(name, `cannot be reloaded: ${because}`)
          refused.push({ plugin: name, origin, because })
          continue
        }
        const member = await this.#member(loaded, running.get(name), granted, owners)
        if (member.generation !== running.get(name)?.generation) opened.push(member.generation)
        members.set(name, member)
        this.#grant(member.generation, granted, owners)
      }
    } catch (error) {
      await disposeAll(opened)
      throw error
    }
    return { members, opened, refused }
  }

  #refusal(
    { manifest }: LoadedPlugin,
    plugins: readonly LoadedPlugin[],
    granted: ReadonlyMap<symbol, unknown>,
    circle: string | undefined,
  ): string | undefined {
    if (circle !== undefined) return `plugins need each other in a circle: ${circle}`
    const missing = (manifest.needs ?? []).filter(({ id }) => !granted.has(id) && !this.#options.kernelPorts.has(id))
    if (missing.length === 0) return undefined
    const named = missing.map(port => {
      const possible = plugins.filter(other => other.manifest.provides?.some(({ id }) => id === port.id))
      const hint = possible.map(other => other.manifest.name).join(' or ')
      return hint === '' ? port.name : `${port.name} (${hint} may provide it, but does not now)`
    })
    return `nothing provides what it needs: ${named.join(', ')}. Switch on a plugin that provides it`
  }

  async #member(
    loaded: LoadedPlugin,
    before: Member | undefined,
    granted: ReadonlyMap<symbol, unknown>,
    owners: ReadonlyMap<symbol, readonly Generation[]>,
  ): Promise<Member> {
    const { manifest, code } = loaded
    const raw = this.#configure(loaded)
    const { needs = [], optional = [], gathers = [] } = manifest
    const providers = [...needs, ...optional, ...gathers].map(({ id }) => (owners.get(id) ?? []).map(owner => owner.id))
    const identity = [code, raw, providers]
    if (isDeepStrictEqual(before?.identity, identity)) return { ...(before as Member), loaded }
    this.#generations += 1
    const generation = await Generation.open({
      manifest,
      code,
      number: this.#generations,
      config: checkConfig(manifest.name, manifest.config, raw),
      root: this.#root,
      granted,
      carried: this.#slots(manifest.name),
      log: this.#options.log,
      limitMs: this.#options.limitMs,
    })
    return { loaded, identity, generation }
  }

  #configure({ manifest }: LoadedPlugin): unknown {
    try {
      return this.#options.configure(manifest)
    } catch (error) {
      throw pluginFault(manifest.name, `cannot be configured: ${messageOf(error)}`, error)
    }
  }

  #grant(generation: Generation, granted: Map<symbol, unknown>, owners: Map<symbol, readonly Generation[]>): void {
    const { services, items } = generation.contributions
    for (const [id, service] of services) {
      const [owner] = owners.get(id) ?? []
      if (owner !== undefined) throw clash(generation, owner, `provides the port ${portName(generation, id)}`)
      granted.set(id, service)
      owners.set(id, [generation])
    }
    for (const { to, item } of items) {
      // A new list each time: generations that were opened with the shorter one keep it.
      granted.set(to, Object.freeze([...((granted.get(to) as readonly unknown[] | undefined) ?? []), item]))
      const before = owners.get(to) ?? []
      if (!before.includes(generation)) owners.set(to, [...before, generation])
    }
  }

  #slots(plugin: string): CarriedSlots {
    const known = this.#carried.get(plugin)
    if (known !== undefined) return known
    const slots: CarriedSlots = new CarriedSlots(plugin, this.#options.log, () => {
      if (this.#carried.get(plugin) === slots) this.#carried.delete(plugin)
    })
    this.#carried.set(plugin, slots)
    return slots
  }
}

/**
 * Does a running plugin lose what it needs because a plugin that provided it was taken away? That is the operator's wish
 * and takes it along. Anything else is a mistake in an edit, which leaves the running epoch as it is.
 */
function isLeftAlone(
  running: ReadonlyMap<string, Member>,
  name: string,
  members: ReadonlyMap<string, Member>,
  plugins: readonly LoadedPlugin[],
): boolean {
  const needs = new Set(running.get(name)?.generation.manifest.needs?.map(({ id }) => id))
  const providers = [...running.values()].filter(({ generation }) =>
    [...generation.contributions.services.keys()].some(id => needs.has(id)),
  )
  return providers.some(({ generation }) => {
    if (members.has(generation.name)) return false
    const isGone = !plugins.some(({ source }) => source.name === generation.name)
    return isGone || isLeftAlone(running, generation.name, members, plugins)
  })
}

/** Last opened, first disposed. */
export async function disposeAll(generations: readonly Generation[]): Promise<void> {
  for (const generation of generations.toReversed()) await generation.dispose()
}

const portName = ({ manifest }: Generation, id: symbol): string | undefined =>
  manifest.provides?.find((port: Port<unknown>) => port.id === id)?.name
