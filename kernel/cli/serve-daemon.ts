import { messageOf } from '#contracts/errors'
import { createDaemon } from '../index.js'
import type { ServeOptions } from './environment.js'

/** A second signal, or this long after the first one, ends the process whatever is still going on. */
const FORCED_MS = 18_000

/** Runs the daemon until SIGTERM or SIGINT. Resolves with the exit code. */
export async function runDaemon(
  environment: Readonly<Record<string, string>>,
  { addr, config, profile }: ServeOptions,
): Promise<number> {
  const daemon = await createDaemon({
    environment,
    ...(config !== undefined && { configFile: config }),
    ...(profile !== undefined && { profile }),
    ...(addr !== undefined && { settings: { addr } }),
  }).catch((error: unknown) => {
    process.stderr.write(`runwright: ${messageOf(error)}\n`)
  })
  if (!daemon) return 1
  const { log } = daemon
  // What a plugin leaves uncaught is that plugin's fault and nobody's end.
  process.on('unhandledRejection', error => {
    if (!daemon.host.blame(error)) log.error({ error: messageOf(error) }, 'unhandled rejection')
  })
  process.on('uncaughtException', error => {
    if (daemon.host.blame(error)) return
    log.error(
      { error: error.stack ?? messageOf(error) },
      'the daemon has failed; unfinished runs go on at its next start',
    )
    process.exit(1)
  })
  await new Promise<void>(resolve => {
    process.once('SIGTERM', resolve)
    process.once('SIGINT', resolve)
  })
  const force = (): never => process.exit(1)
  process.once('SIGTERM', force)
  process.once('SIGINT', force)
  setTimeout(force, FORCED_MS).unref()
  log.info({ runs: daemon.runs.size }, 'stopping')
  await daemon.stop()
  return 0
}
