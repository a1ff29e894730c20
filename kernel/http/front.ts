import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Failure, messageOf } from '#contracts/errors'
import type { PluginLog } from '#contracts/plugin'
import type { DaemonSettings } from '#contracts/settings'
import { withLimit } from '../waits.js'
import { parseBindAddress, refusePublicBind } from './bind-address.js'
import { refuseOddTarget } from './canonical-path.js'
import { answerClientError } from './client-error.js'
import { answerPreflight, setCorsHeaders } from './cors.js'
import { createHostGuard, type HostGuard } from './host-guard.js'
import { holdLease } from './lease.js'
import { maskUrl } from './mask-url.js'
import { writeFailure } from './to-reply.js'

/** The epoch that new requests go to. */
export interface Served {
  readonly app: { routing(request: IncomingMessage, response: ServerResponse): void }
  /** Keeps the epoch alive until the returned function is called. */
  lease(): () => void
}

export interface FrontOptions {
  /** Read once per request. */
  readonly current: () => Served
  readonly settings: () => DaemonSettings
  /** True while a key store is there, so that every request needs a key. */
  readonly hasKeys: () => boolean
  readonly log: PluginLog
  /** Until it resolves, requests that are let in wait, but for probes: nobody is told of a run what is not true yet. */
  readonly ready?: Promise<void>
  /** Bounds of the wire; the defaults are for production. */
  readonly limits?: Partial<WireLimits>
}

export type WireLimits = typeof LIMITS

const LIMITS = {
  headersTimeoutMs: 10_000,
  /** For the whole request, body included. */
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 20_000,
  /** How often the three above are looked at. */
  checkEveryMs: 1_000,
  maxConnections: 20_000,
  maxHeaderBytes: 16_384,
}

/** On every reply; a page of ours (docs, visualizer) replaces the content policy by its own. */
const SECURITY_HEADERS: readonly (readonly [string, string])[] = [
  ['x-content-type-options', 'nosniff'],
  ['referrer-policy', 'no-referrer'],
  ['x-frame-options', 'DENY'],
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ['cache-control', 'no-store'],
]

export interface Front {
  /** Binds the address of the settings. Refuses a public one unless keys are needed or auth is switched off by name. */
  listen(): Promise<{ readonly host: string; readonly port: number; readonly url: string }>
  /**
   * Stops intake, lets replies end while `endStreams` is at work, and cuts what is still open after `graceMs`. Resolves when
   * no connection is left.
   */
  close(graceMs: number, endStreams?: () => Promise<void>): Promise<void>
  readonly isStopping: boolean
  /** The one server of this process. */
  readonly server: Server
}

/** The one HTTP server; it outlives every epoch and hands each request to the app that is current when it arrives. */
export function createFront(options: FrontOptions): Front {
  const { current, settings, hasKeys, log } = options
  const limits = { ...LIMITS, ...options.limits }
  /** Connections on which nothing was asked yet. To node they are not idle: closing its server would wait for them. */
  const silent = new Set<Socket>()
  let isStopping = false
  let isPublic = false
  let guard: HostGuard | undefined
  let starting = options.ready?.then(() => {
    starting = undefined
  })

  const refuse = (request: IncomingMessage): Failure | undefined => {
    const target = request.url ?? ''
    if (guard === undefined) return new Failure('unavailable', 'the daemon is starting')
    const refusal = refuseOddTarget(target) ?? guard.refuse(request)
    if (refusal !== undefined) return refusal
    if (isStopping && !isProbe(target)) return new Failure('unavailable', 'the daemon is stopping')
    // A reload that takes the key store away must not open what was bound under its protection.
    if (isPublic && !hasKeys() && !settings().authDisabled)
      return new Failure('unavailable', 'the daemon has no API keys and does not serve this address without them')
    return undefined
  }

  const serve = (request: IncomingMessage, response: ServerResponse) => {
    silent.delete(request.socket)
    for (const [name, value] of SECURITY_HEADERS) response.setHeader(name, value)
    if (isStopping) response.setHeader('connection', 'close')
    const refusal = refuse(request)
    if (refusal !== undefined) return writeFailure(response, refusal)
    if (starting !== undefined && !isProbe(request.url ?? '')) {
      void starting.then(() => {
        if (!response.destroyed) serve(request, response)
      })
      return
    }
    const { logLevel } = settings()
    if (logLevel === 'debug' || logLevel === 'trace') logReply(request, response, log)
    const { origin } = request.headers
    if (origin !== undefined && guard?.isAllowedOrigin(origin)) {
      setCorsHeaders(response, origin)
      if (answerPreflight(request, response)) return
    }
    try {
      const epoch = current()
      holdLease(response, epoch.lease())
      epoch.app.routing(request, response)
    } catch (error) {
      log.error({ err: error }, 'request failed')
      if (!response.headersSent) writeFailure(response, error)
    }
  }

  const server = createServer(
    {
      requireHostHeader: false,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: limits.checkEveryMs,
      maxHeaderSize: limits.maxHeaderBytes,
    },
    serve,
  )
  server.maxConnections = limits.maxConnections
  server.on('checkExpectation', serve)
  server.on('clientError', answerClientError)
  server.on('connection', socket => {
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
  })

  return {
    server,
    get isStopping() {
      return isStopping
    },
    async listen() {
      const { addr, authDisabled } = settings()
      const wanted = parseBindAddress(addr)
      if (!wanted.isLoopback && !hasKeys() && !authDisabled) throw refusePublicBind(addr)
      const bound = await bind(server, wanted.host, wanted.port, addr)
      isPublic = !wanted.isLoopback
      guard = createHostGuard({ ...bound, isLoopback: wanted.isLoopback }, settings)
      return { host: bound.address, port: bound.port, url: urlOf(bound) }
    },
    async close(graceMs, endStreams = async () => undefined) {
      isStopping = true
      if (!server.listening) return
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      // What is idle went with that; what still answers goes once its reply is flushed.
      server.keepAliveTimeout = 1
      const deadline = setTimeout(() => server.closeAllConnections(), graceMs)
      await withLimit(endStreams(), graceMs, 'ending streams').catch((error: unknown) => {
        log.warn({ error: messageOf(error) }, 'streams not ended')
      })
      for (const socket of silent) socket.destroy()
      await closed
      clearTimeout(deadline)
    },
  }
}

const isProbe = (target: string): boolean => target === '/healthz' || target === '/readyz'

function logReply(request: IncomingMessage, response: ServerResponse, log: PluginLog) {
  const startedMs = performance.now()
  const { method, url = '' } = request
  response.once('close', () => {
    const ms = Math.round(performance.now() - startedMs)
    log.debug({ method, url: maskUrl(url), status: response.statusCode, ms }, 'replied')
  })
}

async function bind(server: Server, host: string, port: number, addr: string): Promise<AddressInfo> {
  // The kernel cuts the backlog to its own limit; a burst of connects must not find it full.
  server.listen({ port, backlog: 4096, ...(host !== '' && { host }) })
  await once(server, 'listening').catch((cause: unknown) => {
    throw new Failure('conflict', `cannot listen on "${addr}": ${reasonOf(cause)}`, { cause })
  })
  return server.address() as AddressInfo
}

function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return 'another program listens there; choose another port or stop that program'
  if (code === 'EACCES') return 'this user may not open that port; choose one above 1023'
  return messageOf(error)
}

/** Reachable from this machine also when bound to every interface. */
function urlOf({ address, port }: { readonly address: string; readonly port: number }): string {
  if (address === '::' || address === '0.0.0.0') return `http://127.0.0.1:${port}`
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`
}
