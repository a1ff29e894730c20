import type { ModelFailure, ModelOutcome } from '#contracts/model/client'
import type { AnswerReader } from './answer-reader.js'
import { httpFailure, type RefusedAnswer } from './http-failure.js'
import { SseReader } from './sse-reader.js'

/** A response body on its way in: each method answers the outcome as soon as there is one. */
export interface AnswerBody {
  push(bytes: Buffer): ModelOutcome | undefined
  end(): ModelOutcome
  /** What is known when the connection breaks; absent: only that it broke. */
  endCut?(): ModelOutcome
}

const failed = (failure: ModelFailure): ModelOutcome => ({ kind: 'failed', failure })

/** An answer as server-sent events. */
export class StreamedBody implements AnswerBody {
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

/** An answer in one piece, from a server that does not stream. */
export class WholeBody implements AnswerBody {
  private readonly pieces: Buffer[] = []
  private size = 0

  constructor(
    private readonly host: string,
    private readonly reader: AnswerReader,
    private readonly maxBytes: number,
  ) {}

  push(bytes: Buffer): ModelOutcome | undefined {
    this.size += bytes.length
    if (this.size > this.maxBytes)
      return failed({ category: 'other', message: `the answer of ${this.host} is longer than ${this.maxBytes} bytes` })
    this.pieces.push(Buffer.from(bytes))
    return undefined
  }

  end(): ModelOutcome {
    const failure = this.reader.takeWhole(Buffer.concat(this.pieces).toString('utf8'))
    return failure === undefined ? this.reader.finish() : failed(failure)
  }
}

/** An answer whose media type says nothing: an object is a whole answer, all else is taken for a stream. */
export class GuessedBody implements AnswerBody {
  private body: AnswerBody | undefined

  constructor(
    private readonly whole: () => AnswerBody,
    private readonly streamed: () => AnswerBody,
  ) {}

  push(bytes: Buffer): ModelOutcome | undefined {
    this.body ??= bytes.toString('latin1').trimStart().startsWith('{') ? this.whole() : this.streamed()
    return this.body.push(bytes)
  }

  end(): ModelOutcome {
    return (this.body ?? this.streamed()).end()
  }
}

/** The body of an HTTP error; only its beginning is kept. */
export class RefusedBody implements AnswerBody {
  private readonly pieces: Buffer[] = []
  private size = 0

  constructor(
    private readonly answer: Omit<RefusedAnswer, 'body'>,
    private readonly apiKey: string,
    private readonly maxBytes: number,
  ) {}

  push(bytes: Buffer): ModelOutcome | undefined {
    this.pieces.push(Buffer.from(bytes.subarray(0, this.maxBytes - this.size)))
    this.size += bytes.length
    return this.size >= this.maxBytes ? this.end() : undefined
  }

  end(): ModelOutcome {
    const body = Buffer.concat(this.pieces).toString('utf8')
    return failed(httpFailure({ ...this.answer, body }, this.apiKey, Date.now()))
  }

  endCut(): ModelOutcome {
    return this.end()
  }
}
