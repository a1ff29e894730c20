import { definePlugin } from '#contracts/plugin'
import { MODEL_WIRES } from '#contracts/ports'
import { AnthropicConfig } from './config.js'
import { messagesWire } from './messages-wire.js'

export const plugin = definePlugin({
  name: 'anthropic',
  config: AnthropicConfig,
  contributes: [MODEL_WIRES],
  register(scope) {
    const { idleTimeoutSeconds, headerTimeoutSeconds, connectTimeoutSeconds } = scope.config
    const timeouts = {
      idleMs: idleTimeoutSeconds * 1000,
      headersMs: headerTimeoutSeconds * 1000,
      connectMs: connectTimeoutSeconds * 1000,
    }
    scope.contribute(MODEL_WIRES, messagesWire(timeouts))
  },
})
