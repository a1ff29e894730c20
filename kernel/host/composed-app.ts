import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RoutePlugin } from '#contracts/http'
import type { Scope } from '#contracts/identity'
import type { Port } from '#contracts/plugin'

/** A route as it was declared, with the plugin it came from. */
export interface RouteDeclaration {
  readonly method: string
  readonly url: string
  readonly plugin: string
  readonly scope: Scope | 'none'
}

/** What the host needs of an epoch's HTTP app: it never listens, it is handed requests. */
export interface ComposedApp {
  routing(request: IncomingMessage, response: ServerResponse): void
  /** Called once, after the last lease of the epoch was returned. */
  close(): Promise<void>
  readonly routes: readonly RouteDeclaration[]
}

/** The routes of one plugin, as data: registering them is the business of whoever composes the app. */
export interface RouteContribution {
  readonly plugin: string
  readonly routes: readonly RoutePlugin[]
  /** Number of the generation: of two that claim one route, the greater is to blame. */
  readonly number?: number
}

/** Services by port: a plugin's, else the kernel's own, else undefined. */
export interface PortLookup {
  port<T>(port: Port<T>): T | undefined
}

/** A service the kernel itself cannot do without. */
export function required<T>(ports: PortLookup, wanted: Port<T>): T {
  const service = ports.port(wanted)
  if (service === undefined) throw new Error(`the kernel has no ${wanted.name}`)
  return service
}

/**
 * Builds the app of an epoch. Contributions come in the order of plugin names. Throws when routes clash; a `Failure`
 * whose `details.plugin` names the plugin at fault gets its error shown in that plugin's row.
 */
export type ComposeApp = (contributions: readonly RouteContribution[], ports: PortLookup) => Promise<ComposedApp>
