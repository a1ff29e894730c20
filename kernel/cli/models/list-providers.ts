import { tellReply } from '../control/tell-reply.js'
import type { Terminal } from '../environment.js'
import { type ConnectionOptions, connect } from '../options.js'
import { plainLine } from '../render/plain-text.js'
import { table } from '../render/table.js'

/** What `GET /v1/providers` says of one provider. */
interface ProviderRow {
  readonly name: string
  readonly configured: boolean
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
    const faults = providers.filter(({ configured, health_error: fault }) => configured && fault)
    return `${table(['PROVIDER', 'CONFIGURED', 'REACHABLE', 'MODELS', 'BASE URL', 'TO USE IT'], rows)}${faults
      .map(({ name, health_error: fault }) => `\n${name}: ${plainLine(fault ?? '')}\n`)
      .join('')}`
  })
}

const HEALTH: Readonly<Record<string, string>> = { ok: 'yes', failed: 'no', unverified: 'not asked yet' }

const healthText = ({ health = 'unverified' }: ProviderRow): string => HEALTH[health] ?? health

function missingText({ name, auth_type: kind, api_key_env: variable }: ProviderRow): string {
  if (kind === 'subscription') return `runwright providers import ${name}`
  return variable ? `set ${variable}` : `runwright providers key ${name}`
}
