import { complain } from './complain.js'
import type { CliEnvironment } from './environment.js'
import { type ConnectionOptions, connect } from './options.js'
import { plainLine } from './render/plain-text.js'
import { table } from './render/table.js'

/** What `GET /v1/plugins` says of one plugin, as far as a person is shown it. */
interface PluginRow {
  readonly name: string
  readonly state: string
  readonly generation?: number | string
  readonly adds?: Readonly<Record<string, unknown>>
  readonly last_error?: string
}

/** Prints the plugins of a running daemon. */
export async function listPlugins(
  environment: CliEnvironment,
  options: ConnectionOptions & { readonly json?: boolean },
): Promise<number> {
  const reply = await connect(environment, options).request<{ readonly plugins: readonly PluginRow[] }>(
    'GET',
    '/v1/plugins',
  )
  if (reply.kind !== 'answered') return complain(environment, reply)
  if (options.json) {
    environment.stdout.write(`${JSON.stringify(reply.body, undefined, 2)}\n`)
    return 0
  }
  const rows = reply.body.plugins.map(plugin => [
    plugin.name,
    plugin.state,
    String(plugin.generation ?? ''),
    addsText(plugin.adds),
  ])
  environment.stdout.write(table(['PLUGIN', 'STATE', 'GENERATION', 'ADDS'], rows))
  for (const { name, last_error } of reply.body.plugins)
    if (last_error) environment.stdout.write(`\n${name}: ${plainLine(last_error)}\n`)
  return 0
}

/** `tools: read, write; hooks: runSettled`. */
function addsText(adds: PluginRow['adds']): string {
  return Object.entries(adds ?? {})
    .filter(([, what]) => Array.isArray(what) && what.length > 0)
    .map(([kind, what]) => `${kind}: ${(what as readonly unknown[]).map(String).join(', ')}`)
    .join('; ')
}
