import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'
const FORM = /^rw[a-z2-7]{6}_[A-Za-z0-9_-]{43}_[a-z2-7]{6}$/

/** A new key. `text` is shown once and kept nowhere; `prefix` and `digest` are what a store may hold. */
export interface NewApiKey {
  readonly text: string
  readonly prefix: string
  readonly digest: string
}

/** Makes a key: a public id of 8 characters, 256 random bits, and a checksum that tells a mistyped key from an unknown one. */
export function createApiKey(): NewApiKey {
  const prefix = `rw${base32(randomBytes(6))}`
  const idAndSecret = `${prefix}_${randomBytes(32).toString('base64url')}`
  const text = `${idAndSecret}_${checksumOf(idAndSecret)}`
  return { text, prefix, digest: digestOf(text) }
}

/** The public id of anything shaped like a key; undefined for the rest. */
export const prefixOf = (text: string): string | undefined => (FORM.test(text) ? text.slice(0, 8) : undefined)

/** True when the checksum of a text shaped like a key fits: what fails this was never a key and needs no look-up. */
export const hasChecksum = (text: string): boolean => checksumOf(text.slice(0, 52)) === text.slice(53)

/** SHA-256 of the whole key, hex. A key has 256 random bits, so a slow hash would add nothing. */
export const digestOf = (text: string): string => hash('sha256', text)

/** The same digest as bytes. */
export const digestBytesOf = (text: string): Buffer => hash('sha256', text, 'buffer')

/** Compares two digests in a time that does not depend on where they differ. */
export const isSameDigest = (one: Buffer, other: Buffer): boolean =>
  one.length === other.length && timingSafeEqual(one, other)

const checksumOf = (idAndSecret: string): string => base32(hash('sha256', idAndSecret, 'buffer').subarray(0, 6))

/** One character of each byte's low five bits: 256 is a multiple of 32, so all are equally likely. */
const base32 = (bytes: Buffer): string => Array.from(bytes, byte => ALPHABET.charAt(byte & 31)).join('')
