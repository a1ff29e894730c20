#!/usr/bin/env node
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Environment } from '#config/index'
import { takeEnvironment } from '#config/secrets'
import { Failure } from '#contracts/errors'
import { createApiKey } from './auth/api-key.js'
import type { CliEnvironment, ConfigView } from './cli/index.js'
import { manifestOf } from './cli/manifest-of.js'
import { processTerminal } from './cli/process-terminal.js'
import { runCli } from './cli/run-cli.js'

const PACKAGE_DIR = fileURLToPath(new URL('../../', import.meta.url))

/**
 * The command line of this installation. Resolves with the exit code. Daemon and configuration are loaded by the
 * commands that use them: most only talk to a daemon, and a person waits for each.
 */
export async function main(argv: readonly string[]): Promise<number> {
  // First of all, and once: from here on nothing this process starts inherits a secret.
  const variables = takeEnvironment()
  const token = variables.SVC_TOKEN
  const environment: CliEnvironment = {
    ...processTerminal({
      baseUrl: variables.SVC_URL || urlOf(variables.SVC_ADDR),
      isColourOff: (variables.NO_COLOR ?? '') !== '',
      ...(token !== undefined && { token }),
    }),
    version: versionOf(join(PACKAGE_DIR, 'package.json')),
    nodeVersion: process.versions.node,
    now: () => new Date(),
    serve: async options => (await import('./cli/serve-daemon.js')).runDaemon(variables, options),
    loadConfig: options => viewConfig(variables, options),
    openKeyStore: async (path, access) => (await import('./cli/keys/open-keys.js')).openKeys(path, access),
    createApiKey,
    checkPlugin: async directory => {
      if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory())
        throw new Failure('not_found', `there is no folder ${directory}`)
      const { checkPlugin } = await import('runwright/testing')
      return checkPlugin(directory)
    },
    startTrial: async options => (await import('./cli/doctor/trial.js')).startTrial(variables, options),
    doctorChecks: async config => [await (await import('./cli/doctor/sandbox-check.js')).checkSandbox(config)],
  }
  return runCli(argv, environment)
}

const DEFAULT_ADDR = '127.0.0.1:8080'

/** Where a daemon of this environment listens, seen from this machine. */
function urlOf(addr = DEFAULT_ADDR): string {
  return `http://${addr.replace(/^(?:0\.0\.0\.0|\[::\]|)(?=:\d+$)/, '127.0.0.1')}`
}

const versionOf = (file: string): string => (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version

async function viewConfig(
  environment: Environment,
  { config, profile }: { readonly config?: string; readonly profile?: string },
): Promise<ConfigView> {
  const { configurePlugin, describeProblem, loadConfig, strayPlugins } = await import('#config/index')
  const { showSettings } = await import('#config/describe')
  const { bundledPlugins, namesOf, pluginSources } = await import('./index.js')
  const loaded = await loadConfig({
    environment,
    cwd: process.cwd(),
    home: homedir(),
    ...(config !== undefined && { configFile: config }),
    ...(profile !== undefined && { profile }),
  })
  const plugins = (await bundledPlugins()).filter(({ name }) => loaded.isPluginEnabled(name))
  const manifests = await Promise.all(plugins.map(manifestOf))
  // A directory that cannot be read is told by the daemon, which does not start with it.
  const found = await pluginSources(undefined, loaded).catch(() => undefined)
  const problems = [
    ...loaded.problems,
    ...(found ? strayPlugins(loaded, namesOf(found)) : []),
    ...manifests.flatMap(manifest => configurePlugin(loaded, manifest).problems),
  ]
  return {
    entries: showSettings(loaded).map(({ key, value, source }) => ({ key, value, source })),
    problems: problems.map(describeProblem),
    runDb: loaded.settings.run_db,
    configure: manifest => configurePlugin(loaded, manifest).raw,
  }
}

/** What a checked plugin left open must not keep the command from ending. */
const LINGER_MS = 500

/** A package's program is started through a link (`npx runwright`). */
const isEntry = (started: string | undefined): boolean =>
  started !== undefined && realpathSync(started) === fileURLToPath(import.meta.url)

if (isEntry(process.argv[1])) {
  process.exitCode = await main(process.argv.slice(2))
  setTimeout(() => process.exit(), LINGER_MS).unref()
}
