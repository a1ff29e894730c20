/**
 * Every failure the service may answer with: our code → HTTP status and, where it differs, the code on the wire.
 * Rows are added, never renumbered.
 */
export const FAILURES = {
  invalid_request: { status: 400 },
  invalid_json: { status: 400 },
  validation_error: { status: 400 },
  /** The session of a vendor's program cannot be taken over. */
  subscription_import_failed: { status: 400 },
  unauthorized: { status: 401 },
  insufficient_scope: { status: 403 },
  /** The Host or Origin of a request is not one this daemon answers to, or an operator ceiling forbids it. */
  forbidden: { status: 403 },
  not_found: { status: 404 },
  skill_not_found: { status: 404 },
  method_not_allowed: { status: 405 },
  timeout: { status: 408 },
  conflict: { status: 409 },
  idempotency_conflict: { status: 409 },
  run_not_completed: { status: 409 },
  run_not_finished: { status: 409 },
  run_not_active: { status: 409 },
  no_pending_input: { status: 409 },
  request_too_large: { status: 413 },
  unsupported_media_type: { status: 415 },
  headers_too_large: { status: 431 },
  steering_buffer_full: { status: 429 },
  rate_limited: { status: 429 },
  internal_error: { status: 500 },
  cancel_failed: { status: 500 },
  execution_error: { status: 500 },
  summarize_failed: { status: 500 },
  not_implemented: { status: 501 },
  not_configured: { status: 501 },
  upstream_error: { status: 502 },
  /** A provider's model list could not be had. */
  fetch_failed: { status: 502 },
  /** An ordinary handler did not answer within its limit. */
  handler_timeout: { status: 503, wire: 'timeout' },
  /** The daemon is stopping, or holds as much work as it may. Sent with Retry-After. */
  unavailable: { status: 503 },
  /** The database cannot take writes at the moment; nothing was acknowledged. Sent with Retry-After. */
  store_unavailable: { status: 503 },
  /** No model can be asked for summaries. */
  summarizer_not_configured: { status: 503 },
  terminal_durability_unavailable: { status: 503 },
  /** A write came from a holder that has since lost the run. Never reaches a client. */
  fenced: { status: 500 },
} as const satisfies Record<string, { readonly status: number; readonly wire?: string }>

export type FailureCode = keyof typeof FAILURES

const marker = Symbol.for('runwright.failure')

/**
 * The one error class. `message` is a sentence for a person and says what to do; `details` holds machine facts
 * (`{ required: 'runs:write' }`). Ask `isFailure(error, code)`, never `instanceof`: after a reload the class exists twice.
 */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly details: Readonly<Record<string, unknown>>
  constructor(
    readonly code: FailureCode,
    message: string,
    options: { readonly cause?: unknown; readonly details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.details = options.details ?? {}
    Object.defineProperty(this, marker, { value: true })
  }
}

/** True for a `Failure` of any generation; with `code`, only for that code. */
export function isFailure(error: unknown, code?: FailureCode): error is Failure {
  if (typeof error !== 'object' || error === null || !(marker in error)) return false
  return code === undefined || (error as unknown as Failure).code === code
}

/** The text of anything that was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
