import { Type } from '@sinclair/typebox'
import { messageOf } from '#contracts/errors'
import type { RoutePlugin } from '#contracts/http'
import type { ConfigReload } from '#contracts/settings'

const Keys = Type.Array(Type.String())
const Report = Type.Object({
  applied: Keys,
  restart_required: Type.Array(Type.String(), { description: 'Keys whose new value takes effect at the next start.' }),
})
/** This route alone answers its failures with a bare text. */
const Refused = Type.Object({ error: Type.String() })

/** The reload route; a daemon that was embedded without configuration files has nothing to reload. */
export function reloadRoute(config: ConfigReload | undefined): RoutePlugin {
  return async app => {
    app.post(
      '/v1/config/reload',
      {
        config: { scope: 'admin' },
        schema: {
          summary: 'Read the configuration again',
          description:
            'Also reloads plugins whose code or configuration changed. A file that cannot be read changes nothing.',
          tags: ['operations'],
          response: { 200: Report, 400: Refused, 501: Refused },
        },
      },
      async (_request, reply) => {
        if (!config)
          return reply.code(501).send({ error: 'config reload is not enabled: the daemon has no configuration files' })
        try {
          const { applied, restart_required } = await config.reload()
          return { applied: [...applied], restart_required: [...restart_required] }
        } catch (error) {
          return reply.code(400).send({ error: messageOf(error) })
        }
      },
    )
  }
}
