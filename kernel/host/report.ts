import type { RouteDeclaration } from './composed-app.js'
import type { Generation } from './generation.js'

/** What one sync did. */
export interface SyncReport {
  /** Number of the epoch that is current now. */
  readonly epoch: number
  /** False when everything was as before: no new epoch was made. */
  readonly isChanged: boolean
  /** Plugins that were opened or re-opened, in that order. */
  readonly opened: readonly string[]
  /** Plugins that ran before and do not any more. */
  readonly closed: readonly string[]
  readonly refused: readonly RefusedPlugin[]
}

/** A plugin left out of the epoch, and why. */
export interface RefusedPlugin {
  readonly plugin: string
  readonly origin: 'bundled' | 'configured'
  readonly because: string
}

/** What a plugin contributes, by name. */
export interface PluginAdditions {
  readonly hooks: readonly string[]
  readonly tools: readonly string[]
  /** As `GET /v1/things`. */
  readonly routes: readonly string[]
  readonly ports: readonly string[]
  readonly background: readonly string[]
}

/** A row of `GET /v1/plugins`. */
export interface PluginReport {
  readonly name: string
  readonly origin: 'bundled' | 'configured'
  /** `<plugin>@<code>#<number>`: equal code, equal middle; the number is never used twice. Absent when not running. */
  readonly generation?: string
  /**
   * `off`: switched off by the operator. `refused`: left out because something it needs is missing. `failed`: broken, and
   * no earlier version runs.
   */
  readonly state: 'running' | 'off' | 'refused' | 'failed'
  readonly adds: PluginAdditions
  /** The last thing that went wrong: a reload that was refused, background work, a watching tap, an undo. */
  readonly last_error?: string
}

export const NO_ADDITIONS: PluginAdditions = Object.freeze({
  hooks: [],
  tools: [],
  routes: [],
  ports: [],
  background: [],
})

/** What a running generation adds to its epoch. */
export function additionsOf(generation: Generation, routes: readonly RouteDeclaration[]): PluginAdditions {
  const { taps, tools, services, background } = generation.contributions
  return {
    hooks: [...new Set(taps.map(({ hook }) => hook))].sort(),
    tools: tools.map(({ name }) => name),
    routes: routes.filter(({ plugin }) => plugin === generation.name).map(({ method, url }) => `${method} ${url}`),
    ports: (generation.manifest.provides ?? []).filter(({ id }) => services.has(id)).map(({ name }) => name),
    background: background.map(({ name }) => name),
  }
}
