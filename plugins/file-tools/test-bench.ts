import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Value } from '@sinclair/typebox/value'
import { messageOf } from '#contracts/errors'
import type { PluginManifest, PluginScope, Port } from '#contracts/plugin'
import type { ToolContext, ToolDefinition } from '#contracts/tool/tool'
import type { FileAccess } from '#contracts/workspace-files'
import { plugin } from './index.js'

/** The tools of this plugin over the real workspace files, in a temporary workspace with a folder outside of it. */
export interface TestBench {
  readonly base: string
  readonly root: string
  readonly tools: ReadonlyMap<string, ToolDefinition>
  put(path: string, content: string | Uint8Array): void
  text(path: string): string
  /** Calls a tool as the run loop does: aliases mapped, arguments checked, throws turned into errors. */
  call(name: string, args: object, options?: CallOptions): Promise<Answer>
  close(): void
}

export interface CallOptions {
  readonly access?: Partial<FileAccess>
  readonly signal?: AbortSignal
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
export type Answer = any

export async function openTestBench(config: object = {}): Promise<TestBench> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'file-tools-')))
  const root = join(base, 'ws')
  for (const folder of [root, join(base, 'outside'), join(base, 'extra')]) mkdirSync(folder)
  writeFileSync(join(base, 'outside/secret'), 'SECRET')
  const services = new Map<string, unknown>()
  const tools = new Map<string, ToolDefinition>()
  // Loaded by path, as the plugin host does; plugins do not import each other.
  const provider = (await import(new URL('../workspace-files/index.js', import.meta.url).href)) as {
    plugin: PluginManifest
  }
  for (const manifest of [provider.plugin, plugin as unknown as PluginManifest])
    await manifest.register(scopeOf(manifest, config, services, tools))
  return {
    base,
    root,
    tools,
    put(path, content) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), content)
    },
    text: path => readFileSync(join(root, path), 'utf8'),
    async call(name, given, { access = {}, signal = new AbortController().signal } = {}) {
      const tool = tools.get(name)
      if (!tool) throw new Error(`no tool ${name}`)
      const args = tool.normalise?.(given as Record<string, unknown>) ?? given
      if (!Value.Check(tool.parameters, args)) return { error: { code: 'schema' } }
      const workspace = { root, extraDirs: [join(base, 'extra')] }
      const policy = { ...workspace, scope: 'workspace', network: 'deny', hiddenPaths: [], ...access }
      const context = { workspace, signal, callId: 'c1', output: () => undefined, sandboxPolicy: async () => policy }
      try {
        const result = await tool.execute(args as never, context as unknown as ToolContext)
        return 'output' in result ? result.output : { error: result.error }
      } catch (error) {
        return { error: messageOf(error) }
      }
    },
    close: () => rmSync(base, { recursive: true, force: true }),
  }
}

function scopeOf(
  manifest: PluginManifest,
  config: object,
  services: Map<string, unknown>,
  tools: Map<string, ToolDefinition>,
): PluginScope<never> {
  const scope = {
    config: Value.Default(manifest.config, { ...config }),
    carry: <T>(_: string, create: () => T) => create(),
    provide: (port: Port<unknown>, value: unknown) => services.set(port.name, value),
    use: (port: Port<unknown>) => services.get(port.name),
    tool: (tool: ToolDefinition) => tools.set(tool.name, tool),
  }
  return scope as unknown as PluginScope<never>
}
