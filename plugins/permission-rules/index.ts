import { definePlugin, STAGE } from '#contracts/plugin'
import { PERMISSION_RULES, WORKSPACE_FILES } from '#contracts/ports'
import { freezeMode, refuseBadPatterns } from './admit.js'
import { Config } from './config.js'
import { askByRule, denyByRule } from './judge.js'
import { JudgedRules } from './rules.js'

/** `permissions.rules` and `rules`: allow, ask and deny by tool and argument. */
export const plugin = definePlugin({
  name: 'permission-rules',
  config: Config,
  optional: [WORKSPACE_FILES],
  provides: [PERMISSION_RULES],
  honours: ['rules', 'permissions.rules'],
  register(scope) {
    const rules = new JudgedRules(scope.find(WORKSPACE_FILES), scope.log)
    scope.provide(PERMISSION_RULES, rules)
    scope.tap('runAdmitting', async admission => freezeMode(refuseBadPatterns(admission), scope.config.mode))
    // What is denied is denied first; nobody is asked before every other plugin had its say.
    scope.tap('toolJudging', (call, run) => denyByRule(rules, call, run), { stage: STAGE.early })
    scope.tap('toolJudging', (call, run) => askByRule(rules, call, run), { stage: STAGE.late })
  },
})
