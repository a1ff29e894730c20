import { isFailure } from '#contracts/errors'
import { normaliseTenant, SCOPES, type Scope } from '#contracts/identity'
import type { ApiKey, KeyStore } from '#contracts/store/key-store'
import { complain } from '../complain.js'
import type { CliEnvironment, NewApiKey } from '../environment.js'
import { type CreateKeyOptions, withKeyStore } from './keys-options.js'

const MAX_NAME_CHARACTERS = 200

/** Makes a key and prints it once: the token on stdout, the warning on stderr, so that a variable takes just the token. */
export async function createKey(environment: CliEnvironment, options: CreateKeyOptions): Promise<number> {
  const scopes = parseScopes(options.scope)
  if (scopes === undefined)
    return complain(environment, `--scope takes ${SCOPES.join(', ')}, several with commas; not "${options.scope}"`)
  const expiresAt = options.expires === undefined ? undefined : parseTime(options.expires)
  if (options.expires !== undefined && expiresAt === undefined)
    return complain(environment, `--expires takes a time such as 2027-01-31T00:00:00Z; not "${options.expires}"`)
  const now = environment.now()
  if (expiresAt !== undefined && expiresAt <= now) return complain(environment, '--expires lies in the past')
  const name = options.name ?? ''
  if (name.length > MAX_NAME_CHARACTERS) return complain(environment, `--name takes ${MAX_NAME_CHARACTERS} characters`)

  const create = async (store: KeyStore): Promise<number> => {
    const made = await addNewKey(store, environment.createApiKey, {
      tenant_id: normaliseTenant(options.tenant.trim()),
      name,
      scopes,
      created_at: now.toISOString(),
      ...(expiresAt && { expires_at: expiresAt.toISOString() }),
    })
    const { digest: _digest, ...shown } = made.key
    environment.stdout.write(
      options.json ? `${JSON.stringify({ token: made.token, ...shown }, undefined, 2)}\n` : `${made.token}\n`,
    )
    environment.stderr.write('Keep this key now: it is shown once and cannot be shown again.\n')
    return 0
  }
  return withKeyStore(environment, options, create, { mustExist: false })
}

const MAX_ATTEMPTS = 5

/** Eight random characters may be taken already; a new key is cheap. */
async function addNewKey(
  store: KeyStore,
  create: () => NewApiKey,
  facts: Omit<ApiKey, 'prefix' | 'digest'>,
): Promise<{ readonly token: string; readonly key: ApiKey }> {
  for (let attempt = 1; ; attempt += 1) {
    const { text: token, prefix, digest } = create()
    const key: ApiKey = { prefix, digest, ...facts }
    try {
      await store.add(key)
      return { token, key }
    } catch (error) {
      if (!isFailure(error, 'conflict') || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

function parseScopes(text: string): readonly Scope[] | undefined {
  const names = [...new Set(text.split(',').map(name => name.trim()))]
  const isScope = (name: string): name is Scope => (SCOPES as readonly string[]).includes(name)
  return names.every(isScope) ? names : undefined
}

const RFC_3339 = /^(\d{4}-\d\d-(\d\d))[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/

/** `Date.parse` alone would move 31 February into March. */
function parseTime(text: string): Date | undefined {
  const match = RFC_3339.exec(text)
  const time = new Date(text.replace(' ', 'T'))
  if (!match || Number.isNaN(time.getTime())) return undefined
  const day = new Date(`${match[1]}T00:00:00Z`)
  return day.getUTCDate() === Number(match[2]) ? time : undefined
}
