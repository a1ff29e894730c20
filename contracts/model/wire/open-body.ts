import type { ModelFailure, ModelOutcome } from '../client.js'
import type { FetchedModels } from '../provider.js'
import type { ResponseHeaders } from './exchange.js'
import {
  type AnswerReader,
  type Failed,
  GuessedBody,
  RefusedBody,
  type ResponseBody,
  StreamedBody,
  WholeBody,
} from './response-body.js'

/** What came before the body of a response. */
export interface ResponseHead {
  /** Host with port, for messages. */
  readonly host: string
  readonly status: number
  readonly headers: ResponseHeaders
  /** What the request was sent with, to be masked in messages; empty: nothing. */
  readonly secret: string
}

export interface AnswerHead extends ResponseHead {
  /** Characters of one event. */
  readonly maxEventChars: number
  /** Bytes of an answer in one piece. */
  readonly maxAnswerChars: number
  reader(): AnswerReader
  /** What to make of a refusal. */
  refused(failure: ModelFailure): ModelFailure
}

type Listed = Extract<FetchedModels, { readonly kind: 'listed' }>

const MAX_ERROR_BODY_BYTES = 16 * 1024
const MAX_LIST_BYTES = 8 * 1024 * 1024

/** How the response to a turn is read, or why it cannot be. */
export function openAnswer(head: AnswerHead): ResponseBody<ModelOutcome> | ModelFailure {
  const { host, maxAnswerChars } = head
  const unusable = refusedBody(head, head.refused) ?? unreadable(head)
  if (unusable !== undefined) return unusable
  const reader = head.reader()
  const streamed = () => new StreamedBody(host, reader, head.maxEventChars)
  const type = mediaType(head)
  if (type.includes('event-stream')) return streamed()
  const whole = () =>
    new WholeBody<ModelOutcome>(host, maxAnswerChars, text => {
      const failure = reader.takeWhole(text)
      return failure === undefined ? reader.finish() : { kind: 'failed', failure }
    })
  return type.includes('json') ? whole() : new GuessedBody(whole, streamed)
}

/** How the response to a request for the list of models is read, or why it cannot be. */
export function openList(head: ResponseHead): ResponseBody<Listed> | ModelFailure {
  const { host } = head
  const read = (text: string): Listed | Failed => {
    try {
      return { kind: 'listed', body: JSON.parse(text) }
    } catch {
      return { kind: 'failed', failure: { category: 'other', message: `the model list of ${host} is not JSON` } }
    }
  }
  return refusedBody(head) ?? unreadable(head) ?? new WholeBody(host, MAX_LIST_BYTES, read)
}

function refusedBody(
  { host, status, headers, secret }: ResponseHead,
  judge?: (failure: ModelFailure) => ModelFailure,
): ResponseBody<never> | undefined {
  return status < 300 ? undefined : new RefusedBody({ host, status, headers }, secret, MAX_ERROR_BODY_BYTES, judge)
}

function unreadable(head: ResponseHead): ModelFailure | undefined {
  const encoding = String(head.headers['content-encoding'] ?? 'identity')
  if (encoding !== 'identity')
    return { category: 'other', message: `${head.host} compressed its answer (${encoding}) though it was asked not to` }
  if (mediaType(head).includes('html'))
    return { category: 'other', message: `${head.host} answered with a web page: is the base URL the root of an API?` }
  return undefined
}

const mediaType = ({ headers }: ResponseHead): string => String(headers['content-type'] ?? '').toLowerCase()
