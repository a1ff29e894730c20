import { createHash } from 'node:crypto'
import { read as readCallback } from 'node:fs'
import { promisify } from 'node:util'
import type { FileRefusal, OpenedFile } from '#contracts/workspace-files'
import { release, reopenForReading } from './descriptor.js'
import type { Place } from './reach.js'
import { notFound, refuse } from './refusal.js'

const readChunk = promisify(readCallback)
const VERSION_DIGITS = 16

/** The short hash that names a content. */
export const versionOf = (bytes: Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex').slice(0, VERSION_DIGITS)

/** Opens the regular file at a place for reading, the very object that was reached. */
export async function openPlace(place: Place): Promise<OpenedFile | FileRefusal> {
  const refused = notRegular(place)
  if (refused || !place.entry) return refused ?? notFound(place.path)
  const { fd: held, stats } = place.entry
  const fd = await reopenForReading(held)
  let isOpen = true
  return {
    kind: 'opened',
    path: place.path,
    sizeBytes: stats.size,
    read: (position, lengthBytes) => readFully(fd, position, lengthBytes),
    close: () => {
      if (isOpen) release(fd)
      isOpen = false
    },
  }
}

/** The whole file at a place, or `too_large`. */
export async function readPlace(place: Place, maxBytes: number): Promise<Uint8Array | FileRefusal> {
  const file = await openPlace(place)
  if (file.kind === 'refused') return file
  try {
    if (file.sizeBytes > maxBytes) return tooLarge(place.path, maxBytes)
    // One byte more than it had: a file that grows meanwhile is noticed, one that shrinks is read as it is.
    const bytes = await file.read(0, file.sizeBytes + 1)
    return bytes.length > maxBytes ? tooLarge(place.path, maxBytes) : bytes
  } finally {
    file.close()
  }
}

/** Why the place is not a regular file; undefined when it is one, or nothing is there. */
export function notRegular({ path, entry }: Place): FileRefusal | undefined {
  if (!entry || entry.stats.isFile()) return undefined
  if (entry.stats.isDirectory()) return refuse('is_a_directory', path, `${path} is a folder. Name a file, or list it.`)
  const kind = entry.stats.isSymbolicLink() ? 'a link' : 'a device, FIFO or socket'
  return refuse('not_a_file', path, `${path} is ${kind}, not a regular file.`)
}

async function readFully(fd: number, position: number, lengthBytes: number): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafe(lengthBytes)
  let filled = 0
  while (filled < lengthBytes) {
    const { bytesRead } = await readChunk(fd, buffer, filled, lengthBytes - filled, position + filled)
    const asked = lengthBytes - filled
    filled += bytesRead
    // Regular files answer short only at their end.
    if (bytesRead < asked) break
  }
  return buffer.subarray(0, filled)
}

const tooLarge = (path: string, maxBytes: number): FileRefusal =>
  refuse('too_large', path, `${path} is larger than ${maxBytes} bytes, the most this tool takes as a whole.`)
