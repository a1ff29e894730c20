import type { Static, TSchema } from '@sinclair/typebox'
import type { HookName, TapFn } from './hooks.js'
import type { RoutePlugin } from './http.js'
import type { RunRequestField } from './run/request.js'
import type { KeyStore } from './store/key-store.js'
import type { ToolDefinition } from './tool/tool.js'

/** A typed name of a service; code of different generations agrees on it by `name`. */
export interface Port<T> {
  readonly id: symbol
  readonly name: string
  /** Never present; carries the type. */
  readonly __service?: T
}

/** Names a service. The same name is the same port, whoever says it. */
export const port = <T>(name: string): Port<T> => Object.freeze({ name, id: Symbol.for(`runwright.port.${name}`) })

/** A typed name of something any number of plugins contribute: wires, providers. */
export interface Gathering<T> {
  readonly id: symbol
  readonly name: string
  /** Never present; carries the type. */
  readonly __item?: T
}

/** Names a gathering. The same name is the same gathering, whoever says it. */
export const gathering = <T>(name: string): Gathering<T> =>
  Object.freeze({ name, id: Symbol.for(`runwright.gathering.${name}`) })

/** May be slow, up to 10 seconds; what it throws is logged. */
export type Undo = () => void | Promise<void>

/** Where a tap stands among the taps of its hook: lower first. Taps of one stage run in the order of plugin names. */
export const STAGE = Object.freeze({ first: -1000, early: -100, normal: 0, late: 100, last: 1000 })

/** A plugin's logger: facts first, then a short sentence. Never a secret, never a whole body. */
export interface PluginLog {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/**
 * Everything a plugin may do while it registers. Declaring is all that happens here: nothing ticks before it is current.
 * All types named here come from `runwright/contracts`.
 */
export interface PluginScope<Config> {
  readonly name: string
  /**
   * The section `[plugins.<name>]` of the config files, checked against the manifest's schema, defaults filled in, frozen.
   * Its keys are spelled as in the file, in snake_case; `enabled` is the host's and never among them.
   * A property annotated `env: 'ACME_KEY'` is also read from that variable, which wins; `setting: 'model'` takes the
   * daemon's setting of that key where the section is silent; `secret: true` is never shown.
   */
  readonly config: Config
  readonly log: PluginLog
  /** Fires when this generation is torn down, after its last lease was returned. */
  readonly signal: AbortSignal
  /** A service from `needs`. Asking for one that is not listed there throws. */
  use<T>(port: Port<T>): T
  /** A service from `optional`: undefined when nothing provides it. */
  find<T>(port: Port<T>): T | undefined
  /** Offers a service listed in `provides`; at most once each. Without it the service is not there (another system). */
  provide<T>(port: Port<T>, value: T): void
  /** Adds one item to a gathering listed in `contributes`; as often as there are items. */
  contribute<T>(to: Gathering<T>, item: T): void
  /**
   * What the plugins of this epoch contribute to a gathering listed in `gathers`, in the order of their names. A plugin
   * that gathers is opened after those that contribute, and again when one of them changes.
   */
  gather<T>(from: Gathering<T>): readonly T[]
  /** Steps into runs. See `contracts/hooks.ts` for every hook. */
  tap<N extends HookName>(hook: N, fn: TapFn<N>, order?: { readonly stage?: number }): void
  /** Adds HTTP routes below `/v1` (or `/mcp`, `/viz`). Each declares its `schema` and `config.scope` (`contracts/http.ts`). */
  routes(routes: RoutePlugin): void
  /** Offers agents a tool. Write it with `defineTool` (`contracts/tool/tool.ts`), which types `execute` by `parameters`. */
  tool<S extends TSchema>(tool: ToolDefinition<S>): void
  /**
   * Work that runs while this generation is the current one. `superseded` fires the moment a newer one takes over. Work
   * that ends or throws is not begun again.
   */
  background(name: string, work: (superseded: AbortSignal) => Promise<void>): void
  /** A slot that outlives reloads of this plugin and goes when the plugin is unloaded. Plain data or contract types. */
  carry<T>(key: string, create: () => T, dispose?: (value: T) => void | Promise<void>): T
  /** Undoes the acquisition on the line above. Undos run in reverse order; one that fails skips none. */
  defer(undo: Undo): void
}

/** A key store somebody else may be using too. */
export interface OpenKeys extends KeyStore {
  close(): Promise<void>
}

/** What the host knows of a plugin before it is opened. Services and gatherings that ship: `contracts/ports.ts`. */
export interface PluginManifest<S extends TSchema = TSchema> {
  /** Kebab-case; the folder's name. */
  readonly name: string
  /** `Type.Object({...})` of typebox; give every property a `default`, so that the plugin opens without a section. */
  readonly config: S
  /** Without all of these the plugin is refused, with one message naming every missing one. */
  readonly needs?: readonly Port<unknown>[]
  /** Used where they are there (`scope.find`). */
  readonly optional?: readonly Port<unknown>[]
  /** Each is offered at most once, and by one plugin of a daemon only; a default of the kernel then steps back. */
  readonly provides?: readonly Port<unknown>[]
  readonly contributes?: readonly Gathering<unknown>[]
  readonly gathers?: readonly Gathering<unknown>[]
  /**
   * Fields of a run request this plugin gives effect to. A request that sets a field nobody honours is refused with 501:
   * no wish is silently dropped.
   */
  readonly honours?: readonly RunRequestField[]
  /**
   * For a plugin that keeps API keys: opens those of a database by its path for the command line, while a daemon may be
   * using it. Close it when done.
   */
  readonly openKeys?: (path: string) => Promise<OpenKeys>
  /** Declares what the plugin adds. May await acquisitions; gets 10 seconds. */
  register(scope: PluginScope<Static<S>>): void | Promise<void>
}

/** Types `register` by the config schema. A plugin's entry exports the result as `plugin`. */
export const definePlugin = <S extends TSchema>(manifest: PluginManifest<S>): PluginManifest<S> =>
  Object.freeze(manifest)
