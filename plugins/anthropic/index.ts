import { definePlugin } from '#contracts/plugin'
import { MODEL_WIRES } from '#contracts/ports'
import { AnthropicConfig } from './config.js'
import { messagesWire } from './messages-wire.js'

export const plugin = definePlugin({
  name: 'anthropic',
  config: AnthropicConfig,
  contributes: [MODEL_WIRES],
  register(scope) {
    const { config } = scope
    const timeouts = {
      idleMs: config.idle_timeout_seconds * 1000,
      headersMs: config.header_timeout_seconds * 1000,
      connectMs: config.connect_timeout_seconds * 1000,
    }
    scope.contribute(MODEL_WIRES, messagesWire(timeouts))
  },
})
