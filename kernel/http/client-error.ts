import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Failure } from '#contracts/errors'
import { toReply } from './to-reply.js'

/** How long a peer gets to read our answer before the connection is cut. */
const LINGER_MS = 1_000

/** Answers what never became a request (junk, oversized headers, time-outs) with the envelope, and hangs up. */
export function answerClientError(error: NodeJS.ErrnoException, connection: Duplex): void {
  const socket = connection as Socket & { readonly _httpMessage?: ServerResponse | null }
  const isAnswering = socket._httpMessage?.headersSent === true
  if (!socket.writable || isAnswering || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const { status, headers, body } = toReply(failureOf(error.code))
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}content-length: ${Buffer.byteLength(body)}\r\n` +
      `connection: close\r\nx-content-type-options: nosniff\r\n\r\n${body}`,
  )
  socket.setTimeout(LINGER_MS, () => socket.destroy())
}

function failureOf(code: string | undefined): Failure {
  if (code === 'HPE_HEADER_OVERFLOW') return new Failure('headers_too_large', 'the request headers are too large')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Failure('timeout', 'the request did not arrive in time')
  return new Failure('invalid_request', 'this is not a well-formed HTTP request')
}
