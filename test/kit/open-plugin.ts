import 'reflect-metadata'
import { Value } from '@sinclair/typebox/value'
import type { FastifyInstance } from 'fastify'
import { container } from 'tsyringe'
import type { HookTable } from '#contracts/hooks'
import type { Gathering, PluginLog, PluginManifest, Port } from '#contracts/plugin'
import type { ToolContext, ToolDefinition, ToolResult } from '#contracts/tool/tool'
import { CarriedSlots } from '#kernel/host/carried'
import { checkConfig } from '#kernel/host/check-config'
import type { RouteDeclaration } from '#kernel/host/composed-app'
import { pluginFault } from '#kernel/host/fault'
import { Generation } from '#kernel/host/generation'
import { buildHookTable } from '#kernel/host/hook-table'
import { composeTestApp, type TestApp } from './compose-app.js'
import { fakeRun } from './fake-run.js'

/** Services to grant, as pairs or a map; keys are ports or their ids. Of a gathering the value is the list of its items. */
export type GrantedPorts = Iterable<readonly [Port<never> | Port<unknown> | Gathering<never> | symbol, unknown]>

export interface OpenPluginOptions {
  /** As an operator would write it; checked against the plugin's schema. */
  readonly config?: unknown
  readonly ports?: GrantedPorts
  /** Default: says nothing. */
  readonly log?: PluginLog
  /** What register may take; default 10 s. */
  readonly limitMs?: number
}

/** One plugin, opened without a daemon. Close it at the end of the test. */
export interface OpenPlugin {
  readonly hooks: HookTable
  readonly tools: ReadonlyMap<string, ToolDefinition>
  readonly routes: readonly RouteDeclaration[]
  /** Send requests with `app.inject(...)`. */
  readonly app: FastifyInstance
  readonly generation: Generation
  /** A service the plugin provides. */
  port<T>(port: Port<T>): T | undefined
  /** What it contributes to a gathering, in its order. */
  items<T>(to: Gathering<T>): readonly T[]
  /** Calls a tool as the run loop does: aliases mapped, arguments checked, throws turned into `{ error }`. */
  call(tool: string, args: unknown, context?: Partial<ToolContext>): Promise<ToolResult>
  /** Starts background work, as becoming current does. */
  activate(): void
  /** Stops background work and runs every undo. What failed on the way is in `generation.lastError`. */
  close(): Promise<void>
}

/** Opens a plugin with the host's own machinery. Fails as the daemon would: missing needs, bad config, a throw. */
export async function openPlugin(plugin: PluginManifest, options: OpenPluginOptions = {}): Promise<OpenPlugin> {
  const generation = await openGeneration(plugin, options)
  let app: TestApp
  try {
    app = await composeTestApp([{ plugin: plugin.name, routes: generation.contributions.routes }])
  } catch (error) {
    await generation.dispose()
    throw error
  }
  const tools = new Map(generation.contributions.tools.map(tool => [tool.name, tool]))
  return {
    hooks: buildHookTable([generation]),
    tools,
    routes: app.routes,
    app: app.fastify,
    generation,
    port: <T>({ id }: Port<T>) => generation.contributions.services.get(id) as T | undefined,
    items: <T>({ id }: Gathering<T>) =>
      generation.contributions.items.filter(({ to }) => to === id).map(({ item }) => item as T),
    call: (name, args, context) => callTool(tools.get(name), name, args, context),
    activate: () => generation.activate(),
    close: async () => {
      await app.close()
      await generation.dispose()
    },
  }
}

/** Only registers: no tables, no app. */
export async function openGeneration(plugin: PluginManifest, options: OpenPluginOptions = {}): Promise<Generation> {
  const { log = SILENT, limitMs = 10_000 } = options
  const granted = new Map([...(options.ports ?? [])].map(([key, value]) => [idOf(key), value]))
  const missing = (plugin.needs ?? []).filter(({ id }) => !granted.has(id))
  if (missing.length > 0)
    throw pluginFault(plugin.name, `needs ${missing.map(({ name }) => name).join(', ')}: give them in "ports"`)
  return Generation.open({
    manifest: plugin,
    code: 'under-test',
    number: 1,
    config: checkConfig(plugin.name, plugin.config, options.config),
    root: container.createChildContainer(),
    granted,
    carried: new CarriedSlots(plugin.name, log, () => undefined),
    log,
    limitMs,
  })
}

async function callTool(
  tool: ToolDefinition | undefined,
  name: string,
  args: unknown,
  context: Partial<ToolContext> = {},
): Promise<ToolResult> {
  if (tool === undefined) throw new Error(`the plugin adds no tool ${name}`)
  const mapped = tool.normalise?.(args as Readonly<Record<string, unknown>>) ?? args
  const [wrong] = Value.Errors(tool.parameters, mapped)
  if (wrong !== undefined) return { error: `invalid arguments: ${wrong.path || '/'} ${wrong.message}` }
  const run = context.run ?? fakeRun()
  try {
    return await tool.execute(mapped as never, {
      run,
      callId: 'call_fake',
      workspace: run.workspace,
      signal: run.signal,
      output: () => undefined,
      sandboxPolicy: async () => {
        throw new Error('this test grants no sandbox policy: give `sandboxPolicy` in the context')
      },
      ...context,
    })
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

const idOf = (key: Port<never> | Port<unknown> | symbol): symbol => (typeof key === 'symbol' ? key : key.id)
const silent = (): void => undefined
const SILENT: PluginLog = { debug: silent, info: silent, warn: silent, error: silent }
