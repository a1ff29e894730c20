import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { Refused, refuse } from './refusal.js'

/** More than this on top of what it unpacks to is not an honest compressed body. */
const WIRE_SLACK_BYTES = 64 * 1024
const FIRST_BYTES = 16 * 1024

const DECODERS: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
}

export interface Body {
  readonly bytes: Uint8Array
  readonly isTruncated: boolean
}

/**
 * Reads and unpacks a body up to `maxBytes`; memory stays near that, whatever the body claims or unpacks to. One layer of
 * compression is unpacked, more are refused: nobody needs them but bombs.
 */
export async function readBody(
  source: AsyncIterable<Uint8Array>,
  encoding: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Body> {
  const layers = encoding
    .toLowerCase()
    .split(',')
    .map(layer => layer.trim())
    .filter(layer => layer !== '' && layer !== 'identity')
  const [layer] = layers
  if (layer === undefined) return collect(source, maxBytes)
  const decoder = DECODERS[layer]
  if (layers.length > 1 || !decoder)
    throw new Refused(
      refuse('bad_encoding', `The body is encoded as "${encoding.slice(0, 100)}", which is not unpacked.`),
    )
  const unpacking = decoder()
  const feeding = pipeline(Readable.from(atMost(source, maxBytes + WIRE_SLACK_BYTES)), unpacking, { signal })
  // Ends with an error when the rest is not wanted; what matters comes out of the decoder.
  feeding.catch(() => undefined)
  try {
    return await collect(unpacking as AsyncIterable<unknown> as AsyncIterable<Uint8Array>, maxBytes)
  } catch (error) {
    throw signal.aborted ? error : damaged(error)
  }
}

/** Copies into one buffer that grows: a list of chunks takes a hundred bytes for each, and a sender may send single bytes. */
async function collect(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Body> {
  let held = Buffer.alloc(Math.min(FIRST_BYTES, maxBytes))
  let total = 0
  for await (const chunk of source) {
    const kept = chunk.subarray(0, maxBytes - total)
    if (total + kept.length > held.length) {
      const larger = Buffer.alloc(Math.min(maxBytes, Math.max(2 * held.length, total + kept.length)))
      larger.set(held.subarray(0, total))
      held = larger
    }
    held.set(kept, total)
    total += kept.length
    if (kept.length < chunk.length) return { bytes: held.subarray(0, total), isTruncated: true }
  }
  return { bytes: held.subarray(0, total), isTruncated: false }
}

async function* atMost(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let total = 0
  for await (const chunk of source) {
    total += chunk.length
    if (total > maxBytes) throw new Refused(refuse('bad_encoding', 'The compressed body never unpacks to anything.'))
    yield chunk
  }
}

const damaged = (error: unknown): Error =>
  error instanceof Refused
    ? error
    : isZlibError(error)
      ? new Refused(refuse('bad_encoding', 'The compressed body is damaged.'))
      : (error as Error)

const isZlibError = (error: unknown): boolean =>
  /^(Z_|ERR_BROTLI|ERR__ERROR|ERR_ZLIB)/.test(String((error as { code?: unknown } | undefined)?.code ?? ''))
