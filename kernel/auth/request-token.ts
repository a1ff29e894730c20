import type { IncomingMessage } from 'node:http'
import { Failure } from '#contracts/errors'
import { isRepeated } from '../http/raw-headers.js'

/**
 * The token a request shows: of its Authorization header, else of `?token=` (for event streams of browsers). A header that
 * is there but not a bearer token is refused, whatever the query says, and so is anything given twice.
 */
export function tokenOf(request: IncomingMessage): string {
  const { authorization } = request.headers
  if (authorization !== undefined) {
    const [, token] = /^Bearer +([^\s,]+) *$/i.exec(authorization) ?? []
    if (token === undefined || isRepeated(request.rawHeaders, 'authorization')) throw unauthorized()
    return token
  }
  const { url = '' } = request
  const mark = url.indexOf('?')
  const tokens = mark === -1 ? [] : new URLSearchParams(url.slice(mark + 1)).getAll('token')
  const [token] = tokens
  if (token === undefined || token === '' || tokens.length > 1) throw unauthorized()
  return token
}

const unauthorized = () => new Failure('unauthorized', 'authorization required')
