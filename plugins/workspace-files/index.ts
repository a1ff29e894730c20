import { Failure } from '#contracts/errors'
import { definePlugin } from '#contracts/plugin'
import { WORKSPACE_FILES } from '#contracts/ports'
import { WorkspaceFilesConfig } from './config.js'
import { createConfinedFiles } from './confined-files.js'
import { isSupported } from './support.js'
import { createTurns } from './turns.js'

export const plugin = definePlugin({
  name: 'workspace-files',
  config: WorkspaceFilesConfig,
  provides: [WORKSPACE_FILES],
  register(scope) {
    if (!isSupported())
      throw new Failure(
        'not_configured',
        'workspace-files opens files through /proc/self/fd, which only Linux with /proc mounted has. Mount /proc, or switch the plugin off.',
      )
    const turns = scope.carry('turns', createTurns)
    scope.provide(WORKSPACE_FILES, createConfinedFiles(scope.config, turns))
  },
})
