import { definePlugin } from '#contracts/plugin'
import { SANDBOX } from '#contracts/ports'
import { BubblewrapSandbox } from './bubblewrap-sandbox.js'
import { BubblewrapConfig } from './config.js'

/** Confinement of commands by Linux namespaces, through the `bwrap` program; on other systems nothing. Starts nothing before the first command. */
export const plugin = definePlugin({
  name: 'bubblewrap',
  config: BubblewrapConfig,
  provides: [SANDBOX],
  register(scope) {
    if (process.platform !== 'linux')
      return scope.log.debug({ platform: process.platform }, 'bubblewrap confines commands on Linux only')
    const sandbox = new BubblewrapSandbox(scope.config)
    scope.defer(() => sandbox.close())
    scope.provide(SANDBOX, sandbox)
  },
})
