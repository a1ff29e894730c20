import { tellReply } from '../control/tell-reply.js'
import type { Terminal } from '../environment.js'
import { type ConnectionOptions, connect } from '../options.js'
import { plainLine } from '../render/plain-text.js'
import { table } from '../render/table.js'

/** What `GET /v1/providers` says of one provider. */
interface ProviderRow {
  readonly name: string
  readonly configured: boolean
  /** What to do so that it can be asked. */
  readonly missing?: string
  readonly api_key_env?: string
  readonly auth_type?: string
  readonly base_url?: string
  readonly model_count?: number
  readonly health?: string
  readonly health_error?: string
}

export interface ListProvidersOptions extends ConnectionOptions {
  /** Ask each configured provider now. */
  readonly check?: boolean
  readonly json?: boolean
}

/** Prints the providers of a running daemon and what each still needs. Resolves with the exit code. */
export async function listProviders(terminal: Terminal, options: ListProvidersOptions): Promise<number> {
  const path = options.check ? '/v1/providers?check=true' : '/v1/providers'
  const reply = await connect(terminal, options).request<{ readonly providers: readonly ProviderRow[] }>('GET', path)
  return tellReply(terminal, reply, options.json, ({ providers }) => {
    const rows = providers.map(provider => [
      provider.name,
      provider.configured ? 'yes' : 'no',
      provider.configured ? healthText(provider) : '',
      String(provider.model_count ?? ''),
      provider.base_url ?? '',
      provider.configured ? '' : missingText(provider),
    ])
    const notes = providers.flatMap(provider => {
      const note = provider.configured ? provider.health_error : oddlyMissing(provider)
      return note ? [`\n${provider.name}: ${plainLine(note)}\n`] : []
    })
    return `${table(['PROVIDER', 'CONFIGURED', 'REACHABLE', 'MODELS', 'BASE URL', 'TO USE IT'], rows)}${notes.join('')}`
  })
}

const HEALTH: Readonly<Record<string, string>> = { ok: 'yes', failed: 'no', unverified: 'not asked yet' }

const healthText = ({ health = 'unverified' }: ProviderRow): string => HEALTH[health] ?? health

/** A key or a session, which a command of ours brings. */
const USUAL = /^(?:set|give it a key|import)\b/

/** What it lacks, where that is more than a key or a session. */
const oddlyMissing = ({ missing = '' }: ProviderRow): string | undefined =>
  missing === '' || USUAL.test(missing) ? undefined : missing

function missingText(provider: ProviderRow): string {
  const { name, auth_type: kind, api_key_env: variable } = provider
  if (oddlyMissing(provider)) return 'see below'
  if (kind === 'subscription') return `runwright providers import ${name}`
  return variable ? `set ${variable}` : `runwright providers key ${name}`
}
