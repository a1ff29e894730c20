import { homedir } from 'node:os'
import { join } from 'node:path'
import { definePlugin } from '#contracts/plugin'
import { PROVIDERS } from '#contracts/ports'
import { SubscriptionsConfig } from './config.js'
import { importSession } from './import-session.js'
import { PrivateCopies } from './private-copy.js'
import { subscriptionRoutes } from './routes.js'
import { createTokenSource, type LiveSessions } from './token-source.js'
import { type Vendor, vendorsOf } from './vendors.js'

/** Sessions of vendors' programs in the place of keys. */
export const plugin = definePlugin({
  name: 'subscriptions',
  config: SubscriptionsConfig,
  optional: [PROVIDERS],
  async register(scope) {
    const { config, log } = scope
    const providers = scope.find(PROVIDERS)
    const vendors = vendorsOf(config, config.home || homedir())
    if (providers === undefined) return scope.routes(subscriptionRoutes(vendors, undefined))

    const sessions = scope.carry<LiveSessions>('sessions', () => new Map())
    const imports = scope.carry('imports', () => ({ last: Promise.resolve() }))
    const copies = new PrivateCopies(join(config.directory, 'subscription-auth'), log)
    const connected = new Set<string>()
    const connect = (vendor: Vendor): void => {
      if (connected.has(vendor.provider)) return
      connected.add(vendor.provider)
      const source = createTokenSource(vendor, { sessions, copies, log, now: Date.now })
      scope.defer(providers.setCredential(vendor.provider, source))
    }
    for (const vendor of vendors) {
      const copy = sessions.has(vendor.provider) ? undefined : await copies.read(vendor.copy)
      if (copy !== undefined) sessions.set(vendor.provider, { session: copy })
      if (sessions.has(vendor.provider)) connect(vendor)
    }
    const take = async (vendor: Vendor): Promise<void> => {
      const work = imports.last.then(() => importSession(vendor, sessions, copies))
      imports.last = work.catch(() => undefined)
      await work
      connect(vendor)
      log.info({ provider: vendor.provider, program: vendor.program }, 'a session was imported')
    }
    scope.routes(subscriptionRoutes(vendors, take))
  },
})
