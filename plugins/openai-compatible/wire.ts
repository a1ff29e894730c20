import type { ModelWire } from '#contracts/model/provider'
import { type ConnectionLimits, OpenAiConnection } from './connection.js'

/** Chat completions, and responses for models that want them. Both protocol names mean the same. */
export const openAiWire = (limits: ConnectionLimits): ModelWire => ({
  protocols: ['openai_compat', 'openai'],
  open: options => new OpenAiConnection(options, limits),
})
