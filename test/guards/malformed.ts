import { RunRequest } from '#contracts/run/request'

/** A request that some client, broken or hostile, may send to a route. */
export interface Malformed {
  readonly name: string
  readonly method: string
  readonly target: string
  readonly lines: readonly string[]
  readonly body: Buffer
}

const JSON_TYPE = 'content-type: application/json'
const NOTHING = Buffer.alloc(0)
const VALUES = [
  'null',
  'true',
  '-1',
  '1.5',
  '1e400',
  '99999999999999999999',
  '""',
  '"x"',
  '[]',
  '[[]]',
  '{}',
  '[{}]',
  '"\\u0000"',
  '"\\ud800"',
]
const IDS = [
  'x',
  '%20',
  '%C3%A9',
  '%F0%9F%92%A5',
  '%7B%7D',
  '{}',
  '%25',
  '%3F',
  '..',
  '.',
  '%2e%2e',
  '..%2f..%2fetc%2fpasswd',
  'a%2fb',
  '%00',
  '%0d%0ax',
  '%E0%A4%A',
  '%ff',
  '__proto__',
  'constructor',
  'x'.repeat(300),
  'x'.repeat(5_000),
  "'%3B%20DROP%20TABLE%20runs%3B--",
]
const QUERIES = [
  '?',
  '?limit=0',
  '?limit=-1',
  '?limit=1e309',
  '?limit=NaN',
  '?limit=',
  '?limit=1&limit=2',
  '?limit[]=1',
  '?status=nope',
  '?status=running&status=failed',
  '?after=%00',
  '?after=nope',
  '?conversation_id=%F0%9F%92%A5',
  '?tenant_id=%00',
  '?%ff=%ff',
  '?__proto__=1',
  '?constructor[prototype]=1',
  `?q=${'x'.repeat(8_000)}`,
  `?${'a=1&'.repeat(2_000)}`,
]
const BODIES: readonly (readonly [string, string | Buffer])[] = [
  ['null', 'null'],
  ['an array', '[]'],
  ['a string', '"x"'],
  ['a number', '5'],
  ['half an object', '{"prompt":"x"'],
  ['half a string', '{"prompt":"x'],
  ['two values', '{"prompt":"x"} {}'],
  ['a trailing comma', '{"prompt":"x",}'],
  ['single quotes', "{'prompt':'x'}"],
  ['doubled keys', '{"prompt":5,"prompt":6}'],
  ['a prototype key', '{"__proto__":{"prompt":"x"}}'],
  ['a constructor key', '{"constructor":{"prototype":{"prompt":"x"}}}'],
  ['a huge number', '{"max_steps":1e999}'],
  ['a deep array', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
  ['a deep object', `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`],
  ['many keys', `{${Array.from({ length: 50_000 }, (_, index) => `"k${index}":1`).join()}}`],
  ['bad UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
  ['an overlong form', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
  ['UTF-16', Buffer.from('{"prompt":"x"}', 'utf16le')],
  ['a BOM', `\ufeff{"prompt":5}`],
  ['NUL bytes', '\0\0\0'],
  ['only spaces', '   '],
  ['too much', `{"prompt":"${'x'.repeat(1_100_000)}"}`],
]

/** The table for one route. */
export function malformedFor(method: string, url: string): readonly Malformed[] {
  const path = url.replaceAll(/:[^/]+/g, 'nope').replace('*', 'nope')
  const plain = (
    name: string,
    target: string,
    lines: readonly string[] = [],
    body: string | Buffer = '',
  ): Malformed => {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    return { name, method, target, lines: bytes.length > 0 && lines.length === 0 ? [JSON_TYPE] : lines, body: bytes }
  }
  const table = [
    ...(url.includes(':')
      ? IDS.map(id => plain(`id ${id.slice(0, 20)}`, url.replace(/:[^/]+/, id).replaceAll(/:[^/]+/g, 'x')))
      : []),
    ...QUERIES.map(query => plain(`query ${query.slice(0, 20)}`, path + query)),
    ...BODIES.map(([name, body]) => plain(`body: ${name}`, path, [], body)),
    ...[
      'a/b/c',
      'application/json; charset=latin1',
      'application/x-www-form-urlencoded',
      '/',
      'application/json, text/plain',
    ].map(type => plain(`type ${type}`, path, [`content-type: ${type}`], '{"prompt":5}')),
    plain('an encoding nobody asked for', path, [JSON_TYPE, 'content-encoding: gzip'], '{"prompt":5}'),
    plain('an unknown expectation', path, ['expect: 200-maybe']),
    plain('both lengths', path, [JSON_TYPE, 'content-length: 3', 'transfer-encoding: chunked']),
    plain('a bad chunk', path, [JSON_TYPE, 'transfer-encoding: chunked'], 'zz\r\n{}\r\n0\r\n\r\n'),
    plain('a length that is none', path, [JSON_TYPE, 'content-length: -5']),
    plain('an idempotency key of nothing', path, [JSON_TYPE, 'idempotency-key: '], '{"prompt":5}'),
    plain('an idempotency key of 10 KB', path, [JSON_TYPE, `idempotency-key: ${'k'.repeat(10_000)}`], '{"prompt":5}'),
    plain('a method nobody has', path),
  ]
  const last = table.at(-1)
  if (last) table[table.length - 1] = { ...last, method: 'PROPFIND' }
  return url === '/v1/runs' && method === 'POST' ? [...table, ...fieldCases(path)] : table
}

/** Every field of a run request with every kind of wrong value. */
function fieldCases(path: string): readonly Malformed[] {
  return Object.keys(RunRequest.properties).flatMap(field =>
    VALUES.map(value => {
      const prompt = field === 'prompt' ? '' : '"prompt":"x",'
      return {
        name: `${field}=${value}`,
        method: 'POST',
        target: path,
        lines: [JSON_TYPE],
        body: Buffer.from(`{${prompt}"${field}":${value}}`),
      }
    }),
  )
}

/** A malformed request as bytes. */
export function bytesOf({ method, target, lines, body }: Malformed, port: number): Buffer {
  const hasLength = lines.some(line => /^(content-length|transfer-encoding)/.test(line))
  const head = [
    `${method} ${target} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    'connection: close',
    ...lines,
    ...(hasLength || body === NOTHING || body.length === 0 ? [] : [`content-length: ${body.length}`]),
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body])
}
