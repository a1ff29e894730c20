import type { PluginManifest } from '#contracts/plugin'
import { type PluginCaseOptions, pluginCases } from './plugin-cases.js'

/** What the suite is written with. vitest, jest, mocha and `node:test` all have a pair that fits. */
export interface SuiteRunner {
  describe(name: string, body: () => void): unknown
  test(name: string, body: () => Promise<void>): unknown
}

export interface DescribePluginOptions extends PluginCaseOptions {
  /** Default: vitest, which has to be what runs the file. */
  readonly runner?: SuiteRunner
}

/**
 * vitest can only be imported where it runs, and its suites only be written while a file is collected. So it is taken
 * here, before anybody asks, and only inside it: a command line that checks a plugin never loads it.
 */
const vitest: SuiteRunner | undefined = process.env.VITEST ? await import('vitest').catch(() => undefined) : undefined

/**
 * What every plugin owes the host, whatever it does, as a suite of its own. `config` and `ports` are what the plugin
 * needs to open; the config must be one that works.
 */
export function describePlugin(plugin: PluginManifest, options: DescribePluginOptions = {}): void {
  const runner = options.runner ?? vitest
  if (runner === undefined)
    throw new Error('describePlugin runs under vitest; with another runner, give its { describe, test } as `runner`')
  runner.describe(`plugin ${plugin.name} keeps the contract`, () => {
    for (const { name, run } of pluginCases(plugin, options)) runner.test(name, () => run())
  })
}
