import { Readable, Writable } from 'node:stream'
import type { ApiKey, KeyStore } from '#contracts/store/key-store'
import type { CliEnvironment } from '../environment.js'
import { runCli } from '../run-cli.js'

/** Everything a command may ask for, in memory, with what it printed. Override what a test is about. */
export function testEnvironment(overrides: Partial<CliEnvironment> & { readonly input?: string } = {}) {
  const out = collector()
  const err = collector()
  const interrupts = new Set<() => void>()
  const { input = '', ...rest } = overrides
  const environment: CliEnvironment = {
    stdin: Readable.from([Buffer.from(input)]),
    stdout: out.stream,
    stderr: err.stream,
    isTty: { stdin: false, stdout: false },
    isColourOff: false,
    columns: 80,
    cwd: '/work/here',
    version: '1.2.3',
    nodeVersion: 'v20.20.0',
    baseUrl: 'http://127.0.0.1:9',
    reconnect: { firstMs: 1, maxMs: 10, giveUpMs: 200 },
    now: () => new Date('2026-06-01T12:00:00Z'),
    onInterrupt(handler) {
      interrupts.add(handler)
      return () => interrupts.delete(handler)
    },
    serve: async () => 0,
    loadConfig: async () => ({ entries: [], problems: [] }),
    openKeyStore: async () => Object.assign(memoryKeyStore(), { close: () => undefined }),
    createApiKey: () => ({ text: 'abcdefgh-secret', prefix: 'abcdefgh', digest: '00' }),
    checkPlugin: async () => ({ plugin: 'none', cases: [] }),
    ...rest,
  }
  return {
    environment,
    interrupt: () => [...interrupts].forEach(handler => void handler()),
    run: async (...argv: readonly string[]) => {
      const code = await runCli(argv, environment)
      return { code, out: out.text(), err: err.text() }
    },
    out,
    err,
  }
}

/** Keys in a map, by the contract of the port. */
export function memoryKeyStore(keys: readonly ApiKey[] = []): KeyStore {
  const held = new Map(keys.map(key => [key.prefix, key]))
  return {
    find: async prefix => held.get(prefix),
    list: async () => [...held.values()].reverse(),
    async add(key) {
      const { Failure } = await import('#contracts/errors')
      if (held.has(key.prefix)) throw new Failure('conflict', `the prefix ${key.prefix} is in use`)
      held.set(key.prefix, key)
    },
    async revoke(prefix) {
      const key = held.get(prefix)
      if (key) held.set(prefix, { revoked_at: '2026-06-01T00:00:00.000Z', ...key })
      return key !== undefined
    },
    touch: async () => undefined,
  }
}

function collector() {
  const chunks: Buffer[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(Buffer.from(chunk))
      done()
    },
  })
  return { stream, text: () => Buffer.concat(chunks).toString('utf8') }
}
