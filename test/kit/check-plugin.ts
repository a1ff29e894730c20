import { basename, resolve } from 'node:path'
import { Value } from '@sinclair/typebox/value'
import { messageOf } from '#contracts/errors'
import type { PluginManifest } from '#contracts/plugin'
import { checkConfig } from '#kernel/host/check-config'
import { Loader } from '#kernel/host/load'
import { Shelf } from '#kernel/host/shelf'
import { openGeneration } from './open-plugin.js'
import { type PluginCaseOptions, pluginCases } from './plugin-cases.js'
import { standInPorts } from './stand-in-ports.js'

export interface CheckPluginOptions {
  /** As an operator would write it. Default: nothing, else the least the schema takes. */
  readonly config?: unknown
  /** What loading, and each opening, may take; default 10 s. */
  readonly limitMs?: number
}

/** What the contract kit found: a case without `error` holds. */
export interface PluginCheck {
  readonly plugin: string
  readonly cases: readonly { readonly name: string; readonly error?: string }[]
}

/** Staged copies lie inside the package, so that they find what the daemon's find. */
const SHELF = resolve(import.meta.dirname, '../../shelf')
const LIMIT_MS = 10_000

/**
 * Runs the contract kit on a plugin folder, TypeScript or JavaScript, loaded as a daemon loads it. Needed services are
 * stood in for (see `standInPorts`). Never rejects for what the plugin does wrong: that is in the report. The plugin's
 * own tests are not run.
 */
export async function checkPlugin(directory: string, options: CheckPluginOptions = {}): Promise<PluginCheck> {
  const { limitMs = LIMIT_MS } = options
  const dir = resolve(directory)
  const name = basename(dir)
  const cases: { readonly name: string; readonly error?: string }[] = []
  const unseen: string[] = []
  const onUnseen = (error: unknown): void => void unseen.push(messageOf(error))
  const run = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      const result = await work()
      cases.push({ name: what })
      return result
    } catch (error) {
      cases.push({ name: what, error: messageOf(error) })
      return undefined
    }
  }
  process.on('unhandledRejection', onUnseen)
  try {
    const loader = new Loader(new Shelf(SHELF), limitMs)
    const loaded = await run('it is loaded as a daemon loads it', () =>
      loader.load({ name, dir, origin: 'configured' }),
    )
    if (loaded === undefined) return { plugin: name, cases }
    const { manifest } = loaded
    const opening = await run('it opens on its default config', () => openOnce(manifest, options, limitMs))
    if (opening === undefined) return { plugin: name, cases }
    for (const each of pluginCases(manifest, { ...opening, dir })) await run(each.name, each.run)
    await run('no promise of it is rejected with nobody listening', async () => {
      // Node tells of a forgotten promise one turn after it was rejected.
      await new Promise(resolve => setImmediate(resolve))
      if (unseen.length > 0) throw new Error([...new Set(unseen)].join('\n'))
    })
    return { plugin: name, cases }
  } finally {
    process.off('unhandledRejection', onUnseen)
  }
}

async function openOnce(
  manifest: PluginManifest,
  options: CheckPluginOptions,
  limitMs: number,
): Promise<PluginCaseOptions> {
  const opening = { config: options.config ?? leastConfig(manifest), ports: standInPorts(manifest), limitMs }
  await (await openGeneration(manifest, opening)).dispose()
  return opening
}

/** Nothing where that will do; else something of the right shape for every field without a default. */
function leastConfig({ name, config }: PluginManifest): unknown {
  try {
    checkConfig(name, config, {})
    return {}
  } catch {
    return Value.Create(config)
  }
}
