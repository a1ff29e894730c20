import { type TLiteral, Type } from '@sinclair/typebox'

const PORT = '(?:6553[0-5]|655[0-2]\\d|65[0-4]\\d{2}|6[0-4]\\d{3}|[1-5]\\d{4}|\\d{1,4})'
const HOST = '(?:\\[[0-9a-fA-F:.]{2,45}\\]|[A-Za-z0-9._-]{0,253})'

/** Shapes that several rows of the settings table share. Each says in words what it expects. */
export const Text = Type.String({ maxLength: 65_536, expected: 'text' })
export const Name = Type.String({ minLength: 1, maxLength: 1024, expected: 'text that is not empty' })
export const Path = Type.String({ maxLength: 4096, pattern: '^[^\\0]*$', expected: 'a path' })
export const Flag = Type.Boolean({ expected: 'true or false' })
export const Count = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  expected: 'a whole number, 0 or more',
})
export const Positive = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  expected: 'a whole number, 1 or more',
})
export const Amount = Type.Number({ minimum: 0, expected: 'a number, 0 or more' })
/** At most a day: longer timers are a mistake, and beyond 2^31 ms they would fire at once. */
export const Seconds = Type.Number({
  exclusiveMinimum: 0,
  maximum: 86_400,
  expected: 'a number of seconds above 0, at most 86400',
})
export const Texts = Type.Array(Type.String({ maxLength: 4096, pattern: '^[^\\0]+$' }), {
  maxItems: 1000,
  expected: 'a list of texts',
})
export const Address = Type.String({
  pattern: `^${HOST}:${PORT}$`,
  expected: 'host:port, for example 127.0.0.1:8080',
})
export const HttpUrl = Type.String({
  maxLength: 4096,
  pattern: '^(https?://[^\\s/]+\\S*)?$',
  expected: 'an http or https address',
})
export const choice = <const V extends string>(...values: readonly [V, V, ...V[]]) =>
  Type.Union(values.map(value => Type.Literal(value)) as [TLiteral<V>, TLiteral<V>, ...TLiteral<V>[]], {
    expected: `one of ${values.join(', ')}`,
  })

declare module '@sinclair/typebox' {
  interface SchemaOptions {
    /** What a value must look like, in words, for reports of one that does not. */
    expected?: string
  }
}
