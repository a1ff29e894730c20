import { definePlugin } from '#contracts/plugin'
import { SANDBOX } from '#contracts/ports'
import { SeatbeltConfig } from './config.js'
import { SeatbeltSandbox } from './seatbelt-sandbox.js'

/** Confinement of commands by macOS's `sandbox-exec`; on other systems nothing. Starts nothing before the first command. */
export const plugin = definePlugin({
  name: 'seatbelt',
  config: SeatbeltConfig,
  provides: [SANDBOX],
  register(scope) {
    if (process.platform !== 'darwin')
      return scope.log.debug({ platform: process.platform }, 'seatbelt confines commands on macOS only')
    const sandbox = new SeatbeltSandbox(scope.config)
    scope.defer(() => sandbox.close())
    scope.provide(SANDBOX, sandbox)
  },
})
