import { expect, test } from 'vitest'
import { createApiKey, digestBytesOf, digestOf, hasChecksum, isSameDigest, prefixOf } from './api-key.js'

const isKey = (text: string) => prefixOf(text) !== undefined && hasChecksum(text)

test('a key names itself by its first eight characters, and only its digest is kept', () => {
  const { text, prefix, digest } = createApiKey()
  expect(text).toMatch(/^rw[a-z2-7]{6}_[A-Za-z0-9_-]{43}_[a-z2-7]{6}$/)
  expect([text.slice(0, 8), text.length]).toEqual([prefix, 59])
  expect([prefixOf(text), hasChecksum(text)]).toEqual([prefix, true])
  expect(digestBytesOf(text).toString('hex')).toBe(digest)
  expect(digest).toBe(digestOf(text))
  expect(digest).toMatch(/^[0-9a-f]{64}$/)
})

test('a thousand keys differ in id and secret', () => {
  const keys = Array.from({ length: 1000 }, createApiKey)
  expect(new Set(keys.map(key => key.prefix)).size).toBe(1000)
  expect(new Set(keys.map(key => key.text.slice(9, 52))).size).toBe(1000)
})

test('every single changed character is found without a store', () => {
  const { text } = createApiKey()
  for (let at = 0; at < text.length; at++) {
    const changed = text.slice(0, at) + (text[at] === 'q' ? 'r' : 'q') + text.slice(at + 1)
    expect(isKey(changed)).toBe(false)
  }
})

test.each([
  '',
  'rw',
  'Bearer x',
  `rwaaaaaa_${'a'.repeat(43)}_aaaaaa`,
  `${createApiKey().text} `,
  createApiKey().text.toUpperCase(),
  'x'.repeat(100_000),
])('%.30s is no key', text => {
  expect(isKey(text)).toBe(false)
})

test('digests of different lengths are unequal and nothing throws', () => {
  const digest = digestBytesOf('x')
  expect(isSameDigest(digest, digest.subarray(1))).toBe(false)
  expect(isSameDigest(digest, digestBytesOf('y'))).toBe(false)
  expect(isSameDigest(digest, digestBytesOf('x'))).toBe(true)
})
