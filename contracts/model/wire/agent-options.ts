import type { Agent } from 'undici'

export interface WireTimeouts {
  /** Silence in a stream that counts as a stall. */
  readonly idleMs: number
  /** Wait for the first byte of a response. */
  readonly headersMs: number
  /** TLS included. */
  readonly connectMs: number
}

const KEEP_ALIVE_MS = 15_000

/** Options of the undici agent a wire sends through: one request per connection at a time, idle ones kept for a while. */
export const agentOptions = ({ idleMs, headersMs, connectMs }: WireTimeouts): Agent.Options => ({
  pipelining: 1,
  keepAliveTimeout: KEEP_ALIVE_MS,
  bodyTimeout: idleMs,
  headersTimeout: headersMs,
  connect: { timeout: connectMs },
})
