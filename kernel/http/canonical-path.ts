import { Failure } from '#contracts/errors'

/** Every segment starts with something else than a dot and holds only characters that need no decoding. */
const PLAIN_PATH = /^(?:\/[A-Za-z0-9_~!$&'()*+,;=:@-][A-Za-z0-9._~!$&'()*+,;=:@-]*)*\/?$/
/** Encoded dot, slash, backslash and control characters: spellings that another reader of the path may fold. */
const FOLDING_ESCAPE = /%(?:2e|2f|5c|[01][0-9a-f]|7f)/i
const ODD_CHARACTER = /[^\x21-\x7e]|[\\#]/

/**
 * Refuses every request target whose path has a second spelling, so that the router, the scope check and the log speak
 * of the same path. Undefined: the target is canonical.
 */
export function refuseOddTarget(target: string): Failure | undefined {
  const mark = target.indexOf('?')
  const path = mark === -1 ? target : target.slice(0, mark)
  if (path !== '' && PLAIN_PATH.test(path) && !target.includes('#')) return undefined
  if (path[0] !== '/') return refuse('send the path alone, beginning with "/", and name the host in the Host header')
  if (ODD_CHARACTER.test(path) || target.includes('#')) return refuse('it holds a character that must be encoded')
  if (FOLDING_ESCAPE.test(path)) return refuse('it holds an encoded dot, slash or control character')
  if (path.includes('//')) return refuse('it holds an empty segment')
  if (path.split('/').some(segment => segment === '.' || segment === '..')) return refuse('it holds a dot segment')
  try {
    decodeURIComponent(path)
    return undefined
  } catch {
    return refuse('it holds a broken % escape')
  }
}

const refuse = (why: string) => new Failure('invalid_request', `the request path is not canonical: ${why}`)
