import { Type } from '@sinclair/typebox'
import { Failure } from '#contracts/errors'
import type { RoutePlugin } from '#contracts/http'
import type { Vendor } from './vendors.js'

const NameParams = Type.Object({ name: Type.String({ minLength: 1, maxLength: 256 }) })

/** Taking over the session of a vendor's program. `take` is undefined where there is nobody to use it. */
export function subscriptionRoutes(
  vendors: readonly Vendor[],
  take: ((vendor: Vendor) => Promise<void>) | undefined,
): RoutePlugin {
  return async app => {
    app.post(
      '/v1/providers/:name/import-subscription',
      {
        config: { scope: 'admin' },
        schema: {
          summary: 'Use the session of a vendor’s program',
          description: `Reads what the program keeps in the home directory of the daemon’s user and keeps a copy. For ${vendors
            .map(({ provider }) => provider)
            .join(' and ')} only.`,
          tags: ['providers'],
          params: NameParams,
          response: { 204: Type.Null() },
        },
      },
      async ({ params: { name } }, reply) => {
        const vendor = vendors.find(({ provider }) => provider === name)
        if (vendor === undefined) throw new Failure('not_found', `no provider ${name} takes an imported session`)
        if (take === undefined) throw new Failure('not_implemented', 'providers are not configured here')
        await take(vendor)
        return reply.code(204).send(null)
      },
    )
  }
}
