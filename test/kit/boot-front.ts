import type { IncomingMessage } from 'node:http'
import type { RoutePlugin } from '#contracts/http'
import { type Identity, OPEN_IDENTITY } from '#contracts/identity'
import type { PluginLog } from '#contracts/plugin'
import type { DaemonSettings } from '#contracts/settings'
import { composeApp } from '#kernel/http/compose-app'
import { createFront, type Front, type WireLimits } from '#kernel/http/front'
import { createKernelRoutes } from '#kernel/http/kernel-routes'

export interface FrontUnderTest {
  readonly front: Front
  readonly port: number
  readonly url: string
  readonly app: Awaited<ReturnType<typeof composeApp>>
  /** Log lines, oldest first. */
  readonly lines: { level: string; facts: object; message: string }[]
  /** How many leases are out. */
  readonly leases: { out: number }
  readonly settings: { -readonly [K in keyof DaemonSettings]: DaemonSettings[K] }
  close(): Promise<void>
}

export const TEST_SETTINGS: DaemonSettings = {
  addr: '127.0.0.1:0',
  authDisabled: false,
  workspace: '/tmp',
  stateDir: '/tmp/.runwright',
  hiddenPaths: ['/tmp/.runwright'],
  model: 'fake',
  retryMaxAttempts: 3,
  retryMaxTotalSec: 60,
  maxConcurrentRuns: 0,
  sseKeepaliveSeconds: 15,
  watchEnabled: false,
  watchIntervalSeconds: 1,
  allowedHosts: [],
  allowedOrigins: [],
  logLevel: 'info',
}

/** The real front on a real port, over an app of these routes. */
export async function bootFront(
  routes: readonly RoutePlugin[],
  options: {
    readonly settings?: Partial<DaemonSettings>
    readonly limits?: Partial<WireLimits>
    readonly identify?: (request: IncomingMessage) => Identity | Promise<Identity>
    readonly handlerTimeoutMs?: number
    readonly hasKeys?: () => boolean
    readonly ready?: Promise<void>
  } = {},
): Promise<FrontUnderTest> {
  const lines: FrontUnderTest['lines'] = []
  const write = (level: string) => (facts: object, message: string) => void lines.push({ level, facts, message })
  const log: PluginLog = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  const settings = { ...TEST_SETTINGS, ...options.settings }
  const leases = { out: 0 }
  let front: Front | undefined
  const app = await composeApp([{ plugin: 'probe', routes }], {
    identify: options.identify ?? (() => OPEN_IDENTITY),
    log,
    kernelRoutes: createKernelRoutes({
      reasonsNotReady: () => (front?.isStopping ? ['the daemon is stopping'] : []),
      plugins: () => [{ name: 'probe' }],
    }),
    ...(options.handlerTimeoutMs === undefined ? {} : { handlerTimeoutMs: options.handlerTimeoutMs }),
  })
  front = createFront({
    current: () => ({
      app,
      lease: () => {
        leases.out++
        return () => void leases.out--
      },
    }),
    settings: () => settings,
    hasKeys: options.hasKeys ?? (() => false),
    log,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.ready && { ready: options.ready }),
  })
  const { port, url } = await front.listen()
  const running = front
  return {
    front,
    port,
    url,
    app,
    lines,
    leases,
    settings,
    async close() {
      await running.close(100)
      await app.close()
    },
  }
}
