import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { Failure, messageOf } from '#contracts/errors'

/** A TOML table. */
export type Table = Readonly<Record<string, unknown>>

/** Is a value of a TOML file a table, and not a list or a date? */
export const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

const LARGEST_FILE_BYTES = 262_144

/**
 * The table of a TOML file; undefined when there is no such file. Anything else that stands in the way is an
 * `invalid_request` naming the file and, for malformed text, the line. The text itself is never part of a message: a
 * file in a workspace may be a link to one that is nobody's business.
 */
export async function readToml(path: string): Promise<Table | undefined> {
  const text = await readText(path)
  if (text === undefined) return undefined
  const { parse, TomlError } = await import('smol-toml')
  try {
    return parse(text)
  } catch (error) {
    const reason = messageOf(error).split('\n')[0]?.replace('Invalid TOML document: ', '')
    const place = error instanceof TomlError ? `${path}:${error.line}:${error.column}` : path
    throw new Failure('invalid_request', `${place}: malformed TOML, ${reason}. Correct the line or remove the file.`, {
      details: { file: path, ...(error instanceof TomlError && { line: error.line, column: error.column }) },
    })
  }
}

// Opened without waiting: a named pipe in a workspace must not hold up the start.
async function readText(path: string): Promise<string | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const { size, isFile } = await file.stat().then(stat => ({ size: stat.size, isFile: stat.isFile() }))
      if (!isFile) throw new Failure('invalid_request', `${path} is not a file. Configuration is a TOML file.`)
      if (size > LARGEST_FILE_BYTES)
        throw new Failure('invalid_request', `${path} is larger than 256 KiB. Is this really a configuration file?`)
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0)
      return buffer.toString('utf8', 0, bytesRead)
    } finally {
      await file.close()
    }
  } catch (error) {
    const code = (error as { code?: unknown }).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    if (error instanceof Failure) throw error
    throw new Failure('invalid_request', `${path} cannot be read: ${messageOf(error)}.`, { cause: error })
  }
}
