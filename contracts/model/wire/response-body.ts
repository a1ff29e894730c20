import type { ModelFailure, ModelOutcome } from '../client.js'
import { httpFailure, type RefusedAnswer } from './http-failure.js'
import { SseReader } from './sse-reader.js'

export interface Failed {
  readonly kind: 'failed'
  readonly failure: ModelFailure
}

/** A response body on its way in: each method answers the outcome as soon as there is one. */
export interface ResponseBody<T> {
  push(bytes: Buffer): T | Failed | undefined
  end(): T | Failed
  /** What is known when the connection breaks; absent: only that it broke. */
  endCut?(): T | Failed
}

/** Makes an answer out of what an API sends. */
export interface AnswerReader {
  /** Nothing follows that belongs to the answer. */
  readonly isDone: boolean
  /** Takes the data of one event; answers the failure that ends the turn, if it is one. */
  take(data: string): ModelFailure | undefined
  /** Takes an answer that came in one piece. */
  takeWhole(body: string): ModelFailure | undefined
  /** The answer is over; one that was cut off is a failure. */
  finish(): ModelOutcome
}

const failed = (failure: ModelFailure): Failed => ({ kind: 'failed', failure })

/** An answer as server-sent events. */
export class StreamedBody implements ResponseBody<ModelOutcome> {
  private outcome: ModelOutcome | undefined
  private isEnding = false
  private readonly events: SseReader

  constructor(
    private readonly host: string,
    private readonly reader: AnswerReader,
    private readonly maxEventChars: number,
  ) {
    this.events = new SseReader(data => this.take(data), maxEventChars)
  }

  push(bytes: Buffer): ModelOutcome | undefined {
    if (this.outcome !== undefined) return this.outcome
    this.events.push(bytes)
    if (this.events.isOverflowing && this.outcome === undefined) this.outcome = this.tooLong()
    return this.outcome
  }

  end(): ModelOutcome {
    this.isEnding = true
    if (this.outcome === undefined) this.events.end()
    return this.outcome ?? this.reader.finish()
  }

  private take(data: string): boolean {
    if (this.isEnding && isCut(data)) return false
    const failure = this.reader.take(data)
    if (failure !== undefined) this.outcome = failed(failure)
    else if (this.reader.isDone) this.outcome = this.reader.finish()
    return this.outcome === undefined
  }

  private tooLong(): ModelOutcome {
    return failed({
      category: 'other',
      message: `${this.host} sent an event of more than ${this.maxEventChars} characters`,
    })
  }
}

/** Of the last event, without its blank line: half a chunk is an early end, not a malformed one. */
function isCut(data: string): boolean {
  if (data === '[DONE]') return false
  try {
    JSON.parse(data)
    return false
  } catch {
    return true
  }
}

/** A body that only means something as a whole. */
export class WholeBody<T> implements ResponseBody<T> {
  private readonly pieces: Buffer[] = []
  private size = 0

  /** `read` gets the text of the body once it is there. */
  constructor(
    private readonly host: string,
    private readonly maxBytes: number,
    private readonly read: (text: string) => T | Failed,
  ) {}

  push(bytes: Buffer): Failed | undefined {
    this.size += bytes.length
    if (this.size > this.maxBytes)
      return failed({ category: 'other', message: `the answer of ${this.host} is longer than ${this.maxBytes} bytes` })
    this.pieces.push(Buffer.from(bytes))
    return undefined
  }

  end(): T | Failed {
    return this.read(Buffer.concat(this.pieces).toString('utf8'))
  }
}

/** An answer whose media type says nothing: an object is a whole answer, all else is taken for a stream. */
export class GuessedBody implements ResponseBody<ModelOutcome> {
  private body: ResponseBody<ModelOutcome> | undefined

  constructor(
    private readonly whole: () => ResponseBody<ModelOutcome>,
    private readonly streamed: () => ResponseBody<ModelOutcome>,
  ) {}

  push(bytes: Buffer): ModelOutcome | undefined {
    this.body ??= bytes.toString('latin1').trimStart().startsWith('{') ? this.whole() : this.streamed()
    return this.body.push(bytes)
  }

  end(): ModelOutcome {
    return (this.body ?? this.streamed()).end()
  }
}

/** The body of an HTTP error; only its beginning is kept, and a connection that breaks meanwhile changes nothing. */
export class RefusedBody implements ResponseBody<never> {
  private readonly pieces: Buffer[] = []
  private size = 0

  constructor(
    private readonly answer: Omit<RefusedAnswer, 'body'>,
    private readonly secret: string,
    private readonly maxBytes: number,
    private readonly judge = (failure: ModelFailure): ModelFailure => failure,
  ) {}

  push(bytes: Buffer): Failed | undefined {
    this.pieces.push(Buffer.from(bytes.subarray(0, this.maxBytes - this.size)))
    this.size += bytes.length
    return this.size >= this.maxBytes ? this.end() : undefined
  }

  end(): Failed {
    const body = Buffer.concat(this.pieces).toString('utf8')
    return failed(this.judge(httpFailure({ ...this.answer, body }, this.secret, Date.now())))
  }

  endCut(): Failed {
    return this.end()
  }
}
