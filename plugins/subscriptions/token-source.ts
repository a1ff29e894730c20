import { Failure, messageOf } from '#contracts/errors'
import type { Credential, CredentialSource } from '#contracts/model/provider'
import type { PluginLog } from '#contracts/plugin'
import type { PrivateCopies } from './private-copy.js'
import type { Session } from './session.js'
import { type Grant, refreshGrant } from './token-endpoint.js'
import type { Vendor } from './vendors.js'

/** A session as it is carried across reloads, so that all generations go by the newest tokens. */
export interface LiveSession {
  session: Session
  /** The one refresh that is under way; says why when there is no better session. */
  refreshing?: Promise<Failure | undefined>
  /** Set when the vendor refused it: it is not asked again. */
  ended?: Failure
}

/** By provider. An import puts a new one in the place of the old. */
export type LiveSessions = Map<string, LiveSession>

export interface TokenSourceParts {
  readonly sessions: LiveSessions
  readonly copies: PrivateCopies
  readonly log: PluginLog
  /** Wall clock: tokens end at a time of day. */
  readonly now: () => number
}

const MARGIN_MS = 30_000

/** Gives the session's token, renewed in time. Rejects with what to do when there is none that would be taken. */
export function createTokenSource(vendor: Vendor, parts: TokenSourceParts): CredentialSource {
  return async signal => {
    const live = parts.sessions.get(vendor.provider)
    if (live === undefined) throw importAgain(vendor, 'there is no session')
    if (!isFresh(live.session, parts.now())) {
      const failure = live.ended ?? (await untilAborted(refreshOnce(vendor, live, parts), signal))
      // What is good for a few seconds still is better than nothing.
      if (failure !== undefined && !isGood(live.session, parts.now())) throw failure
    }
    return credentialOf(vendor, live.session)
  }
}

const isGood = ({ expiresAtMs }: Session, nowMs: number): boolean => expiresAtMs === undefined || nowMs < expiresAtMs
const isFresh = (session: Session, nowMs: number): boolean => isGood(session, nowMs + MARGIN_MS)

const credentialOf = (vendor: Vendor, session: Session): Credential => ({
  secret: session.accessToken,
  headers: vendor.headers(session),
})

const importAgain = ({ program, provider }: Vendor, why: string): Failure =>
  new Failure(
    'not_configured',
    `${provider}: ${why}. Log in with ${program} and import its session again: POST /v1/providers/${provider}/import-subscription`,
  )

function refreshOnce(vendor: Vendor, live: LiveSession, parts: TokenSourceParts): Promise<Failure | undefined> {
  live.refreshing ??= refresh(vendor, live, parts).finally(() => delete live.refreshing)
  return live.refreshing
}

async function refresh(vendor: Vendor, live: LiveSession, parts: TokenSourceParts): Promise<Failure | undefined> {
  const { log, now } = parts
  // Another daemon of this user may have renewed it; its refresh token is spent then.
  if (await adopted(vendor, live, parts)) return undefined
  const grant = await refreshGrant(vendor, live.session.refreshToken, now)
  if (grant.kind === 'failed') return new Failure('upstream_error', `the session could not be renewed: ${grant.why}`)
  if (grant.kind === 'refused') {
    if (await adopted(vendor, live, parts)) return undefined
    live.ended = importAgain(vendor, `its session is over (the vendor answered ${grant.status})`)
    log.warn({ provider: vendor.provider, status: grant.status }, 'a session is over; import it again')
    return live.ended
  }
  await take(vendor, live, renewed(live.session, grant), parts)
  return undefined
}

async function adopted(vendor: Vendor, live: LiveSession, { copies, now }: TokenSourceParts): Promise<boolean> {
  const copy = await copies.read(vendor.copy)
  if (copy === undefined || copy.refreshToken === live.session.refreshToken) return false
  live.session = copy
  return isFresh(copy, now())
}

function renewed(session: Session, grant: Extract<Grant, { kind: 'granted' }>): Session {
  const { expiresAtMs: _, ...rest } = session
  const { kind: __, ...fresh } = grant
  return { ...rest, ...fresh }
}

/** Kept before it is used: the token before may be spent, and a restart must not begin with it. */
async function take(
  vendor: Vendor,
  live: LiveSession,
  session: Session,
  { sessions, copies, log }: TokenSourceParts,
): Promise<void> {
  try {
    // An import that came in between has put a newer session there.
    if (sessions.get(vendor.provider) === live) await copies.write(vendor.copy, session)
  } catch (error) {
    log.error(
      { provider: vendor.provider, reason: messageOf(error) },
      'a renewed session could not be kept; it is lost with the next restart',
    )
  }
  live.session = session
}

/** The refresh goes on for others when one of those who wait for it goes away. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason)
    if (signal.aborted) return leave()
    signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}
