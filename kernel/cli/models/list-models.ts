import { tellReply } from '../control/tell-reply.js'
import type { Terminal } from '../environment.js'
import { type ConnectionOptions, connect } from '../options.js'
import { table } from '../render/table.js'

/** What `GET /v1/models` says of one model, as far as a person is shown it. */
interface ModelRow {
  readonly id: string
  readonly provider: string
  readonly aliases: readonly string[]
  readonly context_window?: number
  readonly input_cost_per_mtok?: number
  readonly output_cost_per_mtok?: number
}

export interface ListModelsOptions extends ConnectionOptions {
  readonly provider?: string
  readonly json?: boolean
}

/** Prints the models of a running daemon, maybe of one provider only. Resolves with the exit code. */
export async function listModels(terminal: Terminal, options: ListModelsOptions): Promise<number> {
  const reply = await connect(terminal, options).request<{ readonly models: readonly ModelRow[] }>('GET', '/v1/models')
  const isWanted = ({ provider }: ModelRow) => options.provider === undefined || provider === options.provider
  const chosen = reply.kind === 'answered' ? { ...reply, body: { models: reply.body.models.filter(isWanted) } } : reply
  return tellReply(terminal, chosen, options.json, ({ models }) =>
    models.length === 0
      ? `no models${options.provider === undefined ? '' : ` of ${options.provider}`}; "runwright providers" lists the providers\n`
      : table(['MODEL', 'PROVIDER', 'ALIASES', 'CONTEXT', '$/M IN', '$/M OUT'], models.map(cellsOf)),
  )
}

const cellsOf = (model: ModelRow): string[] => [
  model.id,
  model.provider,
  model.aliases.join(', '),
  model.context_window === undefined ? '' : model.context_window.toLocaleString('en-US'),
  priceText(model.input_cost_per_mtok),
  priceText(model.output_cost_per_mtok),
]

/** An unknown price is no price, not a free model. */
const priceText = (usd: number | undefined): string => (usd === undefined ? '?' : String(usd))
