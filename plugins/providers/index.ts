import { definePlugin, STAGE } from '#contracts/plugin'
import { MODEL_WIRES, PROVIDER_ENTRIES, PROVIDERS, RECORDS, SECRETS } from '#contracts/ports'
import { createCarriedState } from './carried.js'
import { mergeCatalogs } from './catalogs.js'
import { Checks } from './checks.js'
import { Clients } from './clients.js'
import { ProvidersConfig } from './config.js'
import { Credentials } from './credentials.js'
import { Directory } from './directory.js'
import { Health } from './health.js'
import { KeyRing } from './key-ring.js'
import { Models } from './models.js'
import { Registry } from './registry.js'
import { Resolver } from './resolve.js'
import { providerRoutes } from './routes.js'
import { Standing } from './standing.js'
import { checkDefault } from './start.js'
import { answerers } from './tap.js'

/** Brings wires and catalogs together: routing, clients, keys, health. */
export const plugin = definePlugin({
  name: 'providers',
  config: ProvidersConfig,
  needs: [RECORDS],
  optional: [SECRETS],
  provides: [PROVIDERS],
  gathers: [MODEL_WIRES, PROVIDER_ENTRIES],
  honours: ['model', 'provider_name', 'fallback_providers'],
  async register(scope) {
    const { config, log } = scope
    const secrets = scope.find(SECRETS)
    const variable = (name: string) => secrets?.get(name)
    const state = scope.carry('state', createCarriedState)
    const catalogs = mergeCatalogs(scope.gather(PROVIDER_ENTRIES), (provider, why) =>
      log.warn({ provider, why }, 'a provider of a catalog is left out'),
    )
    const directory = new Directory({ catalogs, wires: scope.gather(MODEL_WIRES), variable })
    const credentials = new Credentials(directory, state, variable)
    const standing = new Standing(directory, credentials, new Models(directory, state))
    const resolver = new Resolver(standing, config)
    const keys = new KeyRing({ state, records: scope.use(RECORDS), secret: config.key_secret, log })
    await keys.load()
    scope.routes(checkDefault(standing, resolver, config, log))

    const health = new Health(state, Date.now)
    const clients = new Clients(standing, health, state, Date.now)
    scope.defer(() => clients.close())
    const providers = new Registry({ standing, resolver, clients, health, keys, state })
    scope.provide(PROVIDERS, providers)
    for (const isLast of [false, true]) {
      const stage = isLast ? STAGE.last + 1 : STAGE.normal
      scope.tap('providerResolving', (...run) => answerers({ providers, standing, isLast }, ...run), { stage })
    }
    scope.routes(providerRoutes(providers, new Checks(standing, clients, health, scope.signal)))
  },
})
