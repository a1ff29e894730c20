import { definePlugin, STAGE } from '#contracts/plugin'
import { APPROVALS, CEILINGS, CHECKPOINTS, PERMISSION_RULES, RUN_STORE, RUNS } from '#contracts/ports'
import { Asking } from './asking.js'
import { CheckpointView } from './checkpoint-view.js'
import { Config } from './config.js'
import { judge } from './judge.js'
import { approvalRoutes } from './routes.js'
import { verdictOf } from './verdict.js'

/** Tool calls that wait for a person's word. */
export const plugin = definePlugin({
  name: 'approvals',
  config: Config,
  needs: [RUNS, RUN_STORE],
  optional: [CEILINGS, CHECKPOINTS, PERMISSION_RULES],
  provides: [APPROVALS],
  honours: ['permissions.approval', 'permissions.unattended'],
  register(scope) {
    const { timeout_seconds, mode } = scope.config
    const runs = scope.use(RUNS)
    const store = scope.use(RUN_STORE)
    const rules = scope.find(PERMISSION_RULES)
    const checkpoints = new CheckpointView(scope.find(CHECKPOINTS), scope.log)
    const asking = new Asking({ runs, checkpoints, timeoutMs: timeout_seconds * 1000, now: () => store.now() })
    scope.provide(APPROVALS, asking)
    scope.tap('runAdmitting', async admission =>
      mode === 'permissions' ? { ...admission, policy: { ...admission.policy, toolApproval: mode } } : admission,
    )
    scope.tap('toolJudging', async (call, run) => judge(call, run, rules), { stage: STAGE.late })
    scope.tap('toolAsking', async ({ call, tool, args }, _why, run) =>
      verdictOf(await asking.ask(run, { callId: call.id, tool: tool.name, arguments: JSON.stringify(args) })),
    )
    scope.tap('runSettling', async (_ending, run) => asking.withdraw(run))
    scope.routes(approvalRoutes({ runs, checkpoints, ceilings: scope.find(CEILINGS) }))
  },
})
