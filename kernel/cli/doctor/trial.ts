import { createDaemon } from '../../index.js'
import type { ConfigOptions } from '../environment.js'
import { SILENT } from './sandbox-problem.js'

/**
 * A daemon as this configuration describes it, but for what would touch the real one: it listens on a free loopback port,
 * keeps everything in memory, watches nothing and leaves nothing behind. Not for runs that have tools.
 */
export async function startTrial(
  environment: Readonly<Record<string, string>>,
  { config, profile }: ConfigOptions,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const daemon = await createDaemon({
    environment,
    ...(config !== undefined && { configFile: config }),
    ...(profile !== undefined && { profile }),
    settings: TRIAL,
    log: SILENT,
    makesStateDir: false,
  })
  return { url: daemon.url, stop: () => daemon.stop() }
}

const TRIAL = {
  addr: '127.0.0.1:0',
  run_db: '',
  conversation_db: '',
  auth_disabled: true,
  watch_enabled: false,
} as const
