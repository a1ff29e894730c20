import { open } from 'node:fs/promises'
import { Value } from '@sinclair/typebox/value'
import { Failure, messageOf } from '#contracts/errors'
import { FakeTurn } from './turn.js'

/** Larger files are refused unread. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024

/** Reads the turns, once. A `Failure` names the variable, the file and, inside it, the turn and the field. */
export async function readTurnsFile(path: string): Promise<readonly FakeTurn[]> {
  if (path === '')
    throw new Failure(
      'not_configured',
      'SVC_PROVIDER=fake needs SVC_FAKE_TURNS: set it to a file with a JSON array of turns',
    )
  return parseTurns(path, await readBounded(path))
}

/** Checks the text of a turns file. Fields that are `null` count as absent. */
export function parseTurns(path: string, text: string): readonly FakeTurn[] {
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch (error) {
    throw refused(path, `it is not JSON (${messageOf(error)})`, error)
  }
  if (!Array.isArray(list)) throw refused(path, 'it must hold a JSON array of turns')
  return list.map((entry, index) => parseTurn(path, withoutNulls(entry), index))
}

function parseTurn(path: string, turn: unknown, index: number): FakeTurn {
  if (Value.Check(FakeTurn, turn)) return turn
  const problem = Value.Errors(FakeTurn, turn).First()
  const field = problem?.path.slice(1).replaceAll('/', '.') ?? ''
  const place = field === '' ? `turn ${index}` : `turn ${index}, field \`${field}\``
  throw refused(path, `${place}: ${problem?.message ?? 'not a turn'}`)
}

async function readBounded(path: string): Promise<string> {
  try {
    const file = await open(path, 'r')
    try {
      const { size } = await file.stat()
      if (size > MAX_FILE_BYTES) throw refused(path, `it is larger than ${MAX_FILE_BYTES} bytes`)
      return (await file.readFile('utf8')).replace(/^\uFEFF/, '')
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    throw refused(path, `it cannot be read (${messageOf(error)})`, error)
  }
}

function withoutNulls(entry: unknown): unknown {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return entry
  const kept = Object.entries(entry).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(kept.filter(([key, value]) => key !== 'cost_status' || value !== ''))
}

const refused = (path: string, why: string, cause?: unknown) =>
  new Failure('not_configured', `SVC_FAKE_TURNS=${path} cannot be used: ${why}`, { cause })
