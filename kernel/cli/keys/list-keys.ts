import type { ApiKey } from '#contracts/store/key-store'
import type { CliEnvironment } from '../environment.js'
import { table } from '../render/table.js'
import { type KeysOptions, withKeyStore } from './keys-options.js'

/** Prints every key without what could authenticate. */
export const listKeys = (environment: CliEnvironment, options: KeysOptions): Promise<number> =>
  withKeyStore(environment, options, async store => {
    const now = environment.now()
    const keys = (await store.list()).map(({ digest: _digest, ...key }) => ({ ...key, state: stateOf(key, now) }))
    if (options.json) environment.stdout.write(`${JSON.stringify({ keys }, undefined, 2)}\n`)
    else if (keys.length === 0) environment.stdout.write('no keys\n')
    else
      environment.stdout.write(
        table(
          ['PREFIX', 'TENANT', 'SCOPES', 'STATE', 'EXPIRES', 'LAST USED', 'NAME'],
          keys.map(key => [
            key.prefix,
            key.tenant_id,
            key.scopes.join(','),
            key.state,
            key.expires_at ?? 'never',
            key.last_used_at ?? 'never',
            key.name,
          ]),
        ),
      )
    return 0
  })

function stateOf(key: Pick<ApiKey, 'revoked_at' | 'expires_at'>, now: Date): 'active' | 'expired' | 'revoked' {
  if (key.revoked_at !== undefined) return 'revoked'
  return key.expires_at !== undefined && new Date(key.expires_at) <= now ? 'expired' : 'active'
}
