import { messageOf } from '#contracts/errors'
import { asObject, expiryOf, objectOf } from './session.js'
import type { Vendor } from './vendors.js'

const TIMEOUT_MS = 15_000
const MAX_BYTES = 256 * 1024
const TOKEN = /^[!-~]{1,16384}$/
/** The vendor has looked at the session and does not take it. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403])

/** What a vendor says to a refresh token. `refused`: this session is over; `failed`: try again later. */
export type Grant =
  | {
      readonly kind: 'granted'
      readonly accessToken: string
      /** Absent: the one before stays good. */
      readonly refreshToken?: string
      readonly expiresAtMs?: number
    }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'failed'; readonly why: string }

/** Trades a refresh token for a fresh session (RFC 6749, section 6). Never rejects, and never repeats what was sent. */
export async function refreshGrant(vendor: Vendor, refreshToken: string, now: () => number): Promise<Grant> {
  const { host } = new URL(vendor.tokenUrl)
  try {
    const response = await fetch(vendor.tokenUrl, {
      method: 'POST',
      // A redirect would carry the token to another address.
      redirect: 'error',
      headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        client_id: vendor.clientId,
        refresh_token: refreshToken,
      }).toString(),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const text = await bodyOf(response)
    if (REFUSALS.has(response.status)) return { kind: 'refused', status: response.status }
    if (!response.ok) return { kind: 'failed', why: `${host} answered ${response.status}` }
    const answer = text === undefined ? undefined : asObject(objectOf(text))
    return granted(answer ?? {}, now()) ?? { kind: 'failed', why: `${host} answered something that is no session` }
  } catch (error) {
    const isLate = error instanceof Error && error.name === 'TimeoutError'
    const why = isLate ? `did not answer within ${TIMEOUT_MS / 1000} seconds` : `could not be asked: ${causeOf(error)}`
    return { kind: 'failed', why: `${host} ${why}` }
  }
}

function granted(answer: Readonly<Record<string, unknown>>, nowMs: number): Grant | undefined {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds } = answer
  if (typeof accessToken !== 'string' || !TOKEN.test(accessToken)) return undefined
  const hasNext = refreshToken !== undefined && refreshToken !== null && refreshToken !== ''
  if (hasNext && (typeof refreshToken !== 'string' || !TOKEN.test(refreshToken))) return undefined
  const told = typeof seconds === 'number' && seconds > 0 ? nowMs + seconds * 1000 : expiryOf(accessToken)
  return {
    kind: 'granted',
    accessToken,
    ...(hasNext && { refreshToken: refreshToken as string }),
    ...(told !== undefined && { expiresAtMs: told }),
  }
}

/** Undefined when it is longer than a session can be. */
async function bodyOf(response: Response): Promise<string | undefined> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of response.body ?? []) {
    length += piece.byteLength
    // Leaving the loop closes the connection.
    if (length > MAX_BYTES) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** `fetch failed` hides why. */
const causeOf = (error: unknown): string =>
  error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error)
