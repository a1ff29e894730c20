import type { Static, TSchema } from '@sinclair/typebox'
import type { ActiveRun } from '../run/active-run.js'
import type { Message } from '../run/message.js'
import type { SandboxPolicy } from '../sandbox.js'

/** What kind of thing a tool does; permission policies and catalogs go by it. */
export type ToolAction = 'read' | 'list' | 'write' | 'execute' | 'fetch' | 'download'

/** The directories a run's tools work in. Every path a tool takes is opened beneath one of them. */
export interface WorkspaceRoots {
  /** Absolute; relative paths start here. */
  readonly root: string
  readonly extraDirs: readonly string[]
  /**
   * All of them were real paths when the run began and must stay what they were: whoever opens one that has become a
   * link, or lies behind one, refuses it.
   */
  readonly isPinned?: boolean
  /** Absolute paths that are neither read nor written: daemon state, databases, keys. */
  readonly hiddenPaths?: readonly string[]
}

/** What a call is about, for rules, plan mode and recaps. Paths are as given by the model, not yet resolved. */
export interface ToolSubject {
  readonly paths?: readonly string[]
  /** The command, query or URL. */
  readonly text?: string
}

export interface ToolContext {
  readonly run: ActiveRun
  readonly callId: string
  readonly workspace: WorkspaceRoots
  /** Fires when the run is cancelled or the daemon stops. A tool ends promptly and leaves no process behind. */
  readonly signal: AbortSignal
  /** Shows a piece of output while the tool works (`tool.output.delta`). Await the promise, if there is one, before more. */
  output(text: string): Promise<void> | undefined
  /** What a command of this call may reach right now, after every plugin had its say. Ask once per command. */
  sandboxPolicy(): Promise<SandboxPolicy>
}

/**
 * What a tool hands back. `output` is what the model reads: an object is sent as JSON. A failure of the tool itself is
 * `{ error }`: expected (no such file, command refused) and worth telling the model. Thrown errors become the same.
 */
export type ToolResult =
  | { readonly output: string | Readonly<Record<string, unknown>>; readonly followUps?: readonly Message[] }
  | { readonly error: string | Readonly<Record<string, unknown>> }

/**
 * A tool of the catalog. `execute` runs at most once per call id when `isMutating`: its intent is durable before it
 * starts, and an unknown outcome after a crash is told to the model, never repeated. Parallel-safe calls that stand
 * next to each other in a turn run together, a few at a time; all others run alone, in order.
 */
export interface ToolDefinition<S extends TSchema = TSchema> {
  readonly name: string
  readonly description: string
  readonly parameters: S
  readonly action: ToolAction
  /** Default: true for write, execute and download. */
  readonly isMutating?: boolean
  /** Default: true for read and list. */
  readonly isParallelSafe?: boolean
  /** `core` (default) is always offered; `deferred` only after `find_tool`. */
  readonly tier?: 'core' | 'deferred'
  readonly tags?: readonly string[]
  /** Dotted group name for `GET /v1/tools`; default `core`. */
  readonly owner?: string
  /** Short phrase: what must be configured for the tool to exist. */
  readonly condition?: string
  /** Maps accepted aliases onto `parameters` before they are checked. Must not throw. */
  normalise?(args: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>
  subject?(args: Static<S>): ToolSubject
  execute(args: Static<S>, context: ToolContext): Promise<ToolResult>
}

/** Types `execute` by `parameters`. */
export const defineTool = <S extends TSchema>(tool: ToolDefinition<S>): ToolDefinition<S> => Object.freeze(tool)

const MUTATING: ReadonlySet<ToolAction> = new Set(['write', 'execute', 'download'])

export const mayMutate = (tool: ToolDefinition): boolean => tool.isMutating ?? MUTATING.has(tool.action)

export const isParallelSafe = (tool: ToolDefinition): boolean =>
  tool.isParallelSafe ?? (tool.action === 'read' || tool.action === 'list')

/** Every tool of the current epoch, core and deferred. A run uses the tools of its own epoch (`ActiveRun.tools`). */
export interface ToolCatalog {
  list(): readonly ToolDefinition[]
}
