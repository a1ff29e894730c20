import type { KeyStore } from '#contracts/store/key-store'
import { complain } from '../complain.js'
import type { CliEnvironment, ConfigOptions } from '../environment.js'

export interface KeysOptions extends ConfigOptions {
  readonly db?: string
  readonly json?: boolean
}

export interface CreateKeyOptions extends KeysOptions {
  readonly tenant: string
  readonly scope: string
  readonly name?: string
  readonly expires?: string
}

/**
 * Opens the keys, does the work, closes them again whatever happens; the exit code is that of the work. Only who makes a
 * key makes a database for it: `mustExist` refuses a path where there is none.
 */
export async function withKeyStore(
  environment: CliEnvironment,
  options: KeysOptions,
  work: (store: KeyStore) => Promise<number>,
  access: { readonly mustExist: boolean } = { mustExist: true },
): Promise<number> {
  const path = options.db ?? (await environment.loadConfig(options)).runDb
  if (!path)
    return complain(
      environment,
      'there is no run database: set SVC_RUN_DB=<file> (for the daemon too), or give --db <file>',
    )
  const store = await environment.openKeyStore(path, access)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
