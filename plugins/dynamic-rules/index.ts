import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { DynamicRule } from '#contracts/run/request'
import { checkRules, firedRules } from './rules.js'

/** `dynamic_rules`: text that joins the model's context for one step after certain tools were used. */
export const plugin = definePlugin({
  name: 'dynamic-rules',
  config: Type.Object({
    rules: Type.Array(DynamicRule, {
      default: [],
      maxItems: 50,
      description: 'Rules of the deployment; they come before those of a request.',
    }),
  }),
  honours: ['dynamic_rules'],
  register(scope) {
    scope.tap('runAdmitting', async admission => {
      checkRules(admission.request.dynamic_rules ?? [])
      return admission
    })
    scope.tap('turnRequesting', async (request, run) => {
      const fired = firedRules(run, scope.config.rules)
      if (fired.length === 0) return request
      const trailing = fired.map(content => ({ role: 'system' as const, content, is_meta: true }))
      return { ...request, trailing: [...request.trailing, ...trailing] }
    })
  },
})
