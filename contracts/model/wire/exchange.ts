import type { Dispatcher } from 'undici'
import type { ModelFailure } from '../client.js'
import type { Failed, ResponseBody } from './response-body.js'
import { transportFailure } from './transport-failure.js'

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>

/** How long a server may keep a connection after it said that its answer is done. */
const GRACE_MS = 1000

/**
 * One request and its response on undici's dispatch, without stream objects in between. Settles exactly once; whatever
 * ends it early closes the connection at once.
 */
export class Exchange<T extends { readonly kind: string }> implements Dispatcher.DispatchHandler {
  readonly outcome: Promise<T | Failed>
  /** True once the outcome is known; then there is no point in sending the request. */
  isSettled = false
  private resolve: (outcome: T | Failed) => void = () => {}
  private controller: Dispatcher.DispatchController | undefined
  private body: ResponseBody<T> | undefined
  private isEnded = false
  private grace: NodeJS.Timeout | undefined
  private readonly onAbort = () => this.fail({ category: 'cancelled', message: 'the turn was cancelled' })

  /** `drained` answers a promise while nothing more is to be read. */
  constructor(
    private readonly host: string,
    private readonly openBody: (status: number, headers: ResponseHeaders) => ResponseBody<T> | ModelFailure,
    private readonly drained: () => Promise<void> | undefined,
    private readonly signal: AbortSignal,
  ) {
    this.outcome = new Promise(resolve => {
      this.resolve = resolve
    })
    if (signal.aborted) this.onAbort()
    else signal.addEventListener('abort', this.onAbort, { once: true })
  }

  /** Ends it, whatever it is doing. */
  fail(failure: ModelFailure): void {
    this.settle({ kind: 'failed', failure })
  }

  /** The request could not be sent. */
  failUnsent(error: unknown): void {
    this.isEnded = true
    this.fail(transportFailure(this.host, error))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.isSettled) this.hangUp()
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (status < 200 || this.isSettled) return
    const body = this.openBody(status, headers)
    if ('category' in body) this.fail(body)
    else this.body = body
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.isSettled || this.body === undefined) return
    const outcome = this.body.push(bytes)
    if (outcome !== undefined) {
      this.settle(outcome)
      return
    }
    const drained = this.drained()
    if (drained === undefined) return
    controller.pause()
    const resume = () => controller.resume()
    drained.then(resume, resume)
  }

  onResponseEnd(): void {
    this.isEnded = true
    clearTimeout(this.grace)
    if (!this.isSettled && this.body !== undefined) this.settle(this.body.end())
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: unknown): void {
    this.isEnded = true
    clearTimeout(this.grace)
    if (this.isSettled) return
    const known = this.body?.endCut?.()
    this.settle(known ?? { kind: 'failed', failure: transportFailure(this.host, error) })
  }

  private settle(outcome: T | Failed): void {
    if (this.isSettled) return
    this.isSettled = true
    this.signal.removeEventListener('abort', this.onAbort)
    this.resolve(outcome)
    if (this.isEnded) return
    if (outcome.kind === 'failed') this.hangUp()
    else this.grace = setTimeout(() => this.hangUp(), GRACE_MS).unref()
  }

  private hangUp(): void {
    this.controller?.abort(new Error('no longer wanted'))
  }
}
