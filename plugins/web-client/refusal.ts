import type { WebRefusal, WebRefusalCode } from '#contracts/web'

export const refuse = (code: WebRefusalCode, message: string): WebRefusal => ({ kind: 'refused', code, message })

export const OPEN_HINT = 'The operator can open it with `tools.network_allowlist`.'

/** Carries a refusal out of a connection attempt. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly isRefused = true
  constructor(readonly refusal: WebRefusal) {
    super(refusal.message)
  }
}

/** The refusal somewhere in the causes of an error, if a guarded connection threw it. */
export function refusalIn(error: unknown): WebRefusal | undefined {
  for (let at = error, depth = 0; typeof at === 'object' && at !== null && depth < 8; depth++) {
    if ('isRefused' in at) return (at as Refused).refusal
    at = (at as { cause?: unknown }).cause
  }
  return undefined
}
