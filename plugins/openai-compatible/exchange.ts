import type { Dispatcher } from 'undici'
import type { ModelFailure, ModelOutcome, ModelSink } from '#contracts/model/client'
import type { AnswerBody } from './answer-body.js'
import { transportFailure } from './transport-failure.js'

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>

/** How long a server may keep a connection after it said that its answer is done. */
const GRACE_MS = 1000

/**
 * One request and its response on undici's dispatch, without stream objects in between. Settles exactly once; whatever
 * ends the turn early closes the connection at once.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly outcome: Promise<ModelOutcome>
  /** True once the outcome is known; then there is no point in sending the request. */
  isSettled = false
  private resolve: (outcome: ModelOutcome) => void = () => {}
  private controller: Dispatcher.DispatchController | undefined
  private body: AnswerBody | undefined
  private isEnded = false
  private grace: NodeJS.Timeout | undefined
  private readonly onAbort = () => this.cancel()

  constructor(
    private readonly host: string,
    private readonly openBody: (status: number, headers: ResponseHeaders) => AnswerBody | ModelFailure,
    private readonly sink: ModelSink,
    private readonly signal: AbortSignal,
  ) {
    this.outcome = new Promise(resolve => {
      this.resolve = resolve
    })
    if (signal.aborted) this.cancel()
    else signal.addEventListener('abort', this.onAbort, { once: true })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.isSettled) controller.abort(new Error('no longer wanted'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (status < 200 || this.isSettled) return
    const body = this.openBody(status, headers)
    if ('category' in body) this.settle({ kind: 'failed', failure: body })
    else this.body = body
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.isSettled || this.body === undefined) return
    const outcome = this.body.push(bytes)
    if (outcome !== undefined) {
      this.settle(outcome)
      return
    }
    const drained = this.sink.drained()
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
    const outcome = this.body?.endCut?.()
    this.settle(outcome ?? { kind: 'failed', failure: transportFailure(this.host, error) })
  }

  private cancel(): void {
    this.settle({ kind: 'failed', failure: { category: 'cancelled', message: 'the turn was cancelled' } })
  }

  private settle(outcome: ModelOutcome): void {
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
