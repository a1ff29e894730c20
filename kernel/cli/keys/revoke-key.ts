import { complain } from '../complain.js'
import type { CliEnvironment } from '../environment.js'
import { type KeysOptions, withKeyStore } from './keys-options.js'

const PREFIX_CHARACTERS = 8

/** Ends a key. A whole key is taken as well and its first eight characters are used, never echoed. */
export const revokeKey = (environment: CliEnvironment, given: string, options: KeysOptions): Promise<number> => {
  const prefix = given.slice(0, PREFIX_CHARACTERS)
  return withKeyStore(environment, options, async store => {
    if (!(await store.revoke(prefix)))
      return complain(environment, `there is no key ${prefix}; "runwright keys list" shows them`)
    environment.stdout.write(options.json ? `${JSON.stringify({ revoked: prefix })}\n` : `revoked ${prefix}\n`)
    return 0
  })
}
