import { Failure } from '#contracts/errors'
import { definePlugin, STAGE } from '#contracts/plugin'
import { APPROVALS, WORKSPACE_FILES } from '#contracts/ports'
import { PlanModeConfig } from './config.js'
import { judgeExit } from './exit.js'
import { gate } from './gate.js'
import { guide } from './guidance.js'
import { narrow } from './narrow.js'
import { rememberFirstVersion } from './plan-content.js'
import { checkPlanFile } from './plan-file.js'

/** Read-only planning until a person approves the plan. */
export const plugin = definePlugin({
  name: 'plan-mode',
  config: PlanModeConfig,
  optional: [APPROVALS, WORKSPACE_FILES],
  honours: ['plan_mode', 'plan_file'],
  register(scope) {
    const approvals = scope.find(APPROVALS)
    const files = scope.find(WORKSPACE_FILES)
    scope.tap('runAdmitting', async admission => {
      checkPlanFile(admission.request)
      if (!admission.request.plan_mode) return admission
      if (!approvals)
        throw new Failure(
          'not_implemented',
          'plan_mode: nobody can approve a plan here; enable the plugin `approvals`',
          {
            details: { field: 'plan_mode' },
          },
        )
      return admission
    })
    scope.tap('stepStarting', async run => rememberFirstVersion(run, files))
    scope.tap('turnRequesting', async (request, run) => guide(request, run))
    scope.tap('toolJudging', async (call, run) => gate(call, run), { stage: STAGE.first })
    // Last, so that nothing that comes after it opens what it closed.
    scope.tap('sandboxShaping', async (policy, run) => narrow(policy, run, scope.config), { stage: STAGE.last })
    scope.tap('answerJudging', async (answer, run) =>
      approvals ? judgeExit(answer, run, approvals, files) : undefined,
    )
  },
})
