import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { SubscriptionsConfig } from './config.js'
import { asObject, checked, claimsOf, expiryOf, objectOf, type Session, type SessionRead, wrong } from './session.js'

/** One vendor whose program's session can be used. */
export interface Vendor {
  /** Provider that is asked with the session. */
  readonly provider: string
  /** The vendor's program, by which a person logs in. */
  readonly program: string
  /** Where the program keeps its session. */
  readonly file: string
  /** The same for people: without the home directory. */
  readonly shownFile: string
  /** Name of the private copy. */
  readonly copy: string
  readonly tokenUrl: string
  /** Public id of the program as an OAuth client. */
  readonly clientId: string
  /** Sent with each request besides the token. */
  headers(session: Session): Readonly<Record<string, string>>
  read(text: string): SessionRead
}

/** The vendors there are. `home` is absolute. */
export const vendorsOf = (config: SubscriptionsConfig, home: string): readonly Vendor[] => [
  {
    provider: 'codex-subscription',
    program: 'codex',
    file: join(config.codex_home || join(home, '.codex'), 'auth.json'),
    shownFile: config.codex_home === '' ? '~/.codex/auth.json' : '$CODEX_HOME/auth.json',
    copy: 'codex.json',
    tokenUrl: config.codex_token_url,
    clientId: 'app_EMoamEEZ73f0CkXaXp7hrann',
    headers: ({ accountId = '' }) => ({ 'chatgpt-account-id': accountId }),
    read: readCodex,
  },
  {
    provider: 'kimi-subscription',
    program: 'kimi',
    file: join(home, '.kimi-code', 'credentials', 'kimi-code.json'),
    shownFile: '~/.kimi-code/credentials/kimi-code.json',
    copy: 'kimi.json',
    tokenUrl: config.kimi_token_url,
    clientId: '17e5f671-d194-4dfb-9706-5516cb48c098',
    headers: ({ deviceId }) => ({
      'x-msh-platform': 'runwright',
      'x-msh-device-name': 'runwright',
      'x-msh-device-id': deviceId,
      ...config.kimi_headers,
    }),
    read: readKimi,
  },
]

const ACCOUNT_CLAIM = 'https://api.openai.com/auth'

function readCodex(text: string): SessionRead {
  const file = asObject(objectOf(text))
  if (file === undefined) return wrong('it does not hold a JSON object')
  const tokens = asObject(file.tokens)
  if (tokens === undefined) return wrong('tokens is missing: codex is not logged in with an account')
  const { access_token: accessToken, refresh_token: refreshToken, id_token: idToken } = tokens
  const told = [idToken, accessToken].map(token => asObject(claimsOf(token)?.[ACCOUNT_CLAIM])?.chatgpt_account_id)
  const accountId = [tokens.account_id, ...told].find(id => typeof id === 'string' && id !== '')
  if (accountId === undefined) return wrong('tokens.account_id is missing, and no token tells it')
  return checked(
    { accessToken, refreshToken, accountId, deviceId: randomUUID(), ...expires(expiryOf(accessToken)) },
    { accessToken: 'tokens.access_token', refreshToken: 'tokens.refresh_token', accountId: 'tokens.account_id' },
  )
}

function readKimi(text: string): SessionRead {
  const file = asObject(objectOf(text))
  if (file === undefined) return wrong('it does not hold a JSON object')
  const { access_token: accessToken, refresh_token: refreshToken, expires_at: seconds } = file
  const told = typeof seconds === 'number' && seconds >= 0 ? seconds * 1000 : undefined
  if (seconds !== undefined && told === undefined) return wrong('expires_at is not a number of seconds')
  return checked(
    { accessToken, refreshToken, deviceId: randomUUID(), ...expires(told ?? expiryOf(accessToken)) },
    { accessToken: 'access_token', refreshToken: 'refresh_token' },
  )
}

const expires = (expiresAtMs: number | undefined) => (expiresAtMs === undefined ? {} : { expiresAtMs })
