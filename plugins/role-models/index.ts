import { Type } from '@sinclair/typebox'
import type { Admission } from '#contracts/hooks'
import { definePlugin, STAGE } from '#contracts/plugin'

/** `role_models`: models by role, of the request before those of the deployment. */
export const plugin = definePlugin({
  name: 'role-models',
  config: Type.Object({
    primary: Type.String({ default: '', setting: 'role_model_primary' }),
    summarizer: Type.String({ default: '', setting: 'role_model_summarizer' }),
  }),
  honours: ['role_models'],
  register(scope) {
    // Late, when profiles have filled in what the request leaves open.
    scope.tap('runAdmitting', async admission => withRoles(admission, scope.config), { stage: STAGE.late })
  },
})

/** The primary model takes the place of `model`; whoever writes summaries reads the other one from the request. */
function withRoles(admission: Admission, config: { readonly primary: string; readonly summarizer: string }): Admission {
  const { request } = admission
  const primary = request.role_models?.primary || config.primary
  const summarizer = request.role_models?.summarizer || config.summarizer
  if (!primary && !summarizer) return admission
  return {
    ...admission,
    request: {
      ...request,
      ...(primary && { model: primary }),
      role_models: { ...(primary && { primary }), ...(summarizer && { summarizer }) },
    },
  }
}
