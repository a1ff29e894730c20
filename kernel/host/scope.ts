import { createHookTable, type HookName } from '#contracts/hooks'
import type { Gathering, PluginLog, PluginManifest, PluginScope, Port, Undo } from '#contracts/plugin'
import type { ToolDefinition } from '#contracts/tool/tool'
import type { Contributions } from './contributions.js'

/** What a scope acts on: the generation that is being opened. */
export interface ScopeTarget {
  readonly manifest: PluginManifest
  readonly config: unknown
  readonly log: PluginLog
  readonly signal: AbortSignal
  readonly contributions: Contributions
  /** A granted service, undefined when there is none. */
  readonly lookUp: (id: symbol) => unknown
  readonly carry: (key: string, create: () => unknown, dispose?: (value: unknown) => void | Promise<void>) => unknown
  readonly defer: (undo: Undo) => void
}

const HOOK_NAMES: ReadonlySet<string> = new Set(Object.keys(createHookTable()))

/**
 * The scope a plugin registers with. It records and acts on nothing. After `seal` it takes no more declarations, so that
 * an epoch never differs from what was composed; `defer` stays open for what background work acquires.
 */
export function createScope(target: ScopeTarget): { readonly scope: PluginScope<unknown>; readonly seal: () => void } {
  const { manifest, contributions } = target
  let isSealed = false
  const declare = (what: string): void => {
    if (isSealed) throw new Error(`${what} comes too late: plugin "${manifest.name}" has already registered`)
  }
  const has = (
    key: 'needs' | 'optional' | 'provides' | 'contributes' | 'gathers',
    named: Port<unknown> | Gathering<unknown>,
  ) => manifest[key]?.some(({ id }) => id === named.id) ?? false

  const scope: PluginScope<unknown> = {
    name: manifest.name,
    config: target.config,
    log: target.log,
    signal: target.signal,
    use<T>(port: Port<T>): T {
      if (!has('needs', port)) throw new Error(`uses the port ${port.name}: list it in "needs"`)
      return target.lookUp(port.id) as T
    },
    find<T>(port: Port<T>): T | undefined {
      if (!has('optional', port) && !has('needs', port))
        throw new Error(`looks for the port ${port.name}: list it in "optional"`)
      return target.lookUp(port.id) as T | undefined
    },
    provide(port, value) {
      declare(`provide(${port.name})`)
      if (!has('provides', port)) throw new Error(`provides the port ${port.name}: list it in "provides"`)
      if (contributions.services.has(port.id)) throw new Error(`provides the port ${port.name} twice`)
      if (value === undefined || value === null) throw new Error(`provides nothing as the port ${port.name}`)
      contributions.services.set(port.id, value)
    },
    contribute(to, item) {
      declare(`contribute(${to.name})`)
      if (!has('contributes', to)) throw new Error(`contributes to ${to.name}: list it in "contributes"`)
      if (item === undefined || item === null) throw new Error(`contributes nothing to ${to.name}`)
      contributions.items.push({ to: to.id, item })
    },
    gather<T>(from: Gathering<T>): readonly T[] {
      if (!has('gathers', from)) throw new Error(`gathers ${from.name}: list it in "gathers"`)
      return (target.lookUp(from.id) as readonly T[] | undefined) ?? []
    },
    tap(hook: HookName, fn: unknown, order: { readonly stage?: number } = {}) {
      declare(`tap(${hook})`)
      if (!HOOK_NAMES.has(hook))
        throw new Error(`taps "${hook}", which is no hook; hooks are ${[...HOOK_NAMES].join(', ')}`)
      if (typeof fn !== 'function') throw new Error(`taps ${hook} with something that is not a function`)
      const stage = order.stage ?? 0
      contributions.taps.push({ hook, plugin: manifest.name, stage, fn: fn as (...args: unknown[]) => unknown })
    },
    routes(routes) {
      declare('routes()')
      contributions.routes.push(routes)
    },
    tool(tool) {
      declare(`tool(${tool.name})`)
      contributions.tools.push(tool as ToolDefinition)
    },
    background(name, work) {
      declare(`background(${name})`)
      contributions.background.push({ name, work })
    },
    carry<T>(key: string, create: () => T, dispose?: (value: T) => void | Promise<void>): T {
      declare(`carry(${key})`)
      return target.carry(key, create, dispose as ((value: unknown) => void | Promise<void>) | undefined) as T
    },
    defer: undo => target.defer(undo),
  }
  return {
    scope: Object.freeze(scope),
    seal: () => {
      isSealed = true
    },
  }
}
