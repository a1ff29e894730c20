import { definePlugin } from '#contracts/plugin'
import { WEB } from '#contracts/ports'
import type { AddressRules } from './address-rules.js'
import { WebClientConfig } from './config.js'
import { Guard, resolveBySystem } from './guard.js'
import { GuardedWeb } from './guarded-web.js'

/** Guarded requests to addresses that others chose. Loads its HTTP library with the first of them. */
export const plugin = definePlugin({
  name: 'web-client',
  config: WebClientConfig,
  provides: [WEB],
  async register(scope) {
    const { network_allowlist: entries } = scope.config
    let known: Promise<AddressRules> | undefined
    const rules = () => {
      known ??= import('./address-rules.js').then(({ createAddressRules }) => createAddressRules(entries))
      return known
    }
    // A slip in the list is told now and not by the first tool call.
    if (entries.length > 0) await rules()
    const web = new GuardedWeb(new Guard(rules, resolveBySystem))
    scope.defer(() => web.close())
    scope.provide(WEB, web)
  },
})
