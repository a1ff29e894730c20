import type { IncomingMessage, ServerResponse } from 'node:http'

/** Lets a page of a listed origin read the reply. Never called for any other origin. */
export function setCorsHeaders(response: ServerResponse, origin: string): void {
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-expose-headers', 'content-location, retry-after, allow, idempotency-replayed')
  response.setHeader('vary', 'origin')
}

/** Answers a browser's question whether a listed origin may send a request; false when this is no such question. */
export function answerPreflight(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return false
  response.writeHead(204, {
    'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
    'access-control-allow-headers': 'authorization, content-type, last-event-id, idempotency-key, traceparent',
    'access-control-max-age': '600',
  })
  response.end()
  return true
}
