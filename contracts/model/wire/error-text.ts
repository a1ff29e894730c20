/** Longest piece of a provider's own words in a message. */
export const MAX_ERROR_CHARS = 400

/** What a server said about an error: its words without markup or key, and its machine code. */
export interface ServerError {
  readonly text: string
  readonly code: string
  /** A status stated inside the error, for errors that arrive in a stream. */
  readonly status?: number
}

/** Reads the body of an error answer: the usual error objects, else text with markup removed. */
export function parseErrorBody(body: string, apiKey: string): ServerError {
  const parsed = parseJson(body)
  return parsed === undefined ? { text: summarise(stripMarkup(body), apiKey), code: '' } : readError(parsed, apiKey)
}

/** Reads an error object (`{error: {...}}`, `{message}`, `{detail}`, or a bare text). */
export function readError(value: unknown, apiKey: string): ServerError {
  if (typeof value === 'string') return { text: summarise(stripMarkup(value), apiKey), code: '' }
  if (Array.isArray(value)) return readError(value[0] ?? '', apiKey)
  if (typeof value !== 'object' || value === null) return { text: '', code: '' }
  const fields = value as Readonly<Record<string, unknown>>
  if (fields.error !== undefined && fields.error !== null) return readError(fields.error, apiKey)
  const words = [fields.message, fields.detail, fields.msg].find(word => typeof word === 'string' && word !== '')
  const status = [fields.code, fields.status].map(Number).find(number => number >= 400 && number < 600)
  return {
    text: summarise(stripMarkup(typeof words === 'string' ? words : JSON.stringify(value)), apiKey),
    code: [fields.code, fields.type].filter(code => typeof code === 'string').join(' '),
    ...(status === undefined ? {} : { status }),
  }
}

function summarise(text: string, apiKey: string): string {
  const masked = apiKey === '' ? text : text.replaceAll(apiKey, '***')
  const plain = masked.replace(/\s+/g, ' ').trim()
  return plain.length > MAX_ERROR_CHARS
    ? `${plain.slice(0, MAX_ERROR_CHARS - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
    : plain
}

/** Drops tags, and whole scripts and styles. Looks at each character once: a regular expression for tags is quadratic. */
function stripMarkup(text: string): string {
  if (!text.includes('<') || !text.includes('>')) return text
  const lower = text.toLowerCase()
  const kept: string[] = []
  let at = 0
  for (let open = text.indexOf('<'); open !== -1; open = text.indexOf('<', at)) {
    const hidden = ['script', 'style'].find(tag => lower.startsWith(tag, open + 1))
    const closing = hidden === undefined ? -1 : lower.indexOf(`</${hidden}`, open)
    const close = text.indexOf('>', closing === -1 ? open : closing)
    kept.push(text.slice(at, open))
    if (close === -1) return kept.join(' ')
    at = close + 1
  }
  kept.push(text.slice(at))
  return kept.join(' ')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
