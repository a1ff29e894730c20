import { definePlugin } from '#contracts/plugin'
import { PROVIDER_ENTRIES } from '#contracts/ports'
import { CatalogConfig } from './config.js'
import { loadCatalog } from './load.js'

/** The providers that ship, as data, with what a deployment lays over them. */
export const plugin = definePlugin({
  name: 'catalog',
  config: CatalogConfig,
  contributes: [PROVIDER_ENTRIES],
  async register(scope) {
    scope.contribute(PROVIDER_ENTRIES, await loadCatalog(scope.config))
  },
})
