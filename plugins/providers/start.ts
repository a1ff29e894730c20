import type { RoutePlugin } from '#contracts/http'
import type { PluginLog } from '#contracts/plugin'
import type { ProvidersConfig } from './config.js'
import type { Resolver } from './resolve.js'
import type { Standing } from './standing.js'

/** Answers by a plugin of its own. */
const FAKE = 'fake'

/**
 * Looks at what runs will get that wish nothing. A provider nobody knows refuses the start; one that cannot be asked yet is
 * only warned about, for a key may still be given. It adds no route: it looks when routes are put together, since by then
 * every plugin has opened, and those that add providers have added theirs.
 */
export function checkDefault(
  standing: Standing,
  resolver: Resolver,
  { provider }: Pick<ProvidersConfig, 'provider'>,
  log: PluginLog,
): RoutePlugin {
  let isDone = false
  return async () => {
    // Routes are put together again whenever another plugin changes; that starts nothing here.
    if (!isDone) check(standing, resolver, provider, log)
    isDone = true
  }
}

function check(standing: Standing, resolver: Resolver, provider: string, log: PluginLog): void {
  if (provider === FAKE) return
  if (provider !== '' && standing.directory.find(provider) === undefined)
    throw standing.unknownProvider('SVC_PROVIDER', provider)
  const standard = resolver.standard()
  if (standard.kind === 'target') return
  // The bare client may have settings of its own, and speaks for itself.
  const { provider: about = standing.bareName } = standard.failure.details
  if (provider === '' && about === standing.bareName && standing.ready().length === 0) return
  log.warn({ provider: standard.from }, standard.failure.message)
}
