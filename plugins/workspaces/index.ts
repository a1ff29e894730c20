import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { pinnedRoots, refuseReplaced, withRealRoots } from './roots.js'

/** `workspace_path` and `extra_dirs`: existing directories that root a run's tools. */
export const plugin = definePlugin({
  name: 'workspaces',
  config: Type.Object({
    roots: Type.Array(Type.String(), {
      default: [],
      description: 'Directories below which workspace_path and extra_dirs must lie; empty: anywhere.',
    }),
  }),
  honours: ['workspace_path', 'extra_dirs'],
  register(scope) {
    scope.tap('runAdmitting', async admission => {
      const request = await withRealRoots(admission.request, scope.config.roots)
      return request === admission.request ? admission : { ...admission, request }
    })
    scope.tap('workspaceProvisioning', pinnedRoots)
    scope.tap('sandboxShaping', async policy => {
      if (policy.isPinned) await refuseReplaced(policy)
      return policy
    })
  },
})
