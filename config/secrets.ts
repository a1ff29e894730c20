import type { Secrets } from '#contracts/settings'
import { SETTING_ROWS } from './schema.js'

/** Environment variables as they stood at start-up. */
export type Environment = Readonly<Record<string, string>>

const SECRET_NAME =
  /(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PAT|CREDENTIALS?|DSN|DATABASE_URL|CONNECTION_STRING|MCP_SERVERS)(?:_ID|_FILE)?$/i

const TABLE_SECRETS: ReadonlySet<string> = new Set(
  SETTING_ROWS.flatMap(([, row]) => (row.secret && row.env !== undefined ? [row.env] : [])),
)

/** Does a variable of this name hold something no child process may inherit? */
export const isSecretName = (name: string): boolean => TABLE_SECRETS.has(name) || SECRET_NAME.test(name)

/**
 * Reads the environment once and takes what looks secret out of it, so that no child process inherits it. Call this
 * first, before anything is spawned; everything later reads the snapshot.
 */
export function takeEnvironment(variables: NodeJS.ProcessEnv = process.env): Environment {
  const taken: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) continue
    taken[name] = value
    if (isSecretName(name)) delete variables[name]
  }
  return Object.freeze(taken)
}

/** The snapshot as plugins see it; a variable that is set to nothing counts as absent. */
export const createSecrets = (environment: Environment): Secrets =>
  Object.freeze({
    get: (name: string) =>
      Object.hasOwn(environment, name) && environment[name] !== '' ? environment[name] : undefined,
  })
