import { Failure } from '#contracts/errors'
import type { Collection, CollectionDefinition, RecordNamespace, Records, Scan, Stored } from '#contracts/store/records'
import type { OpenDatabase } from './databases.js'
import type { Value } from './protocol.js'
import { rowsOf } from './rows.js'

const DEFAULT_SCAN_LIMIT = 100
const REINDEX_PAGE = 200

/** Where a namespace lives: opened when it is first used. */
export interface RecordHome {
  readonly isDurable: boolean
  open(): Promise<OpenDatabase>
}

/** A collection in use. The newest definition counts for every holder, as after a reload of the plugin it belongs to. */
interface Table {
  definition: CollectionDefinition<unknown>
  /** The collection's database and number, once its index entries are those of the definition. */
  ready: Promise<{ readonly database: OpenDatabase; readonly number: number }> | undefined
}

/** Records in database files, by namespace. */
export function createSqliteRecords(homes: Readonly<Record<RecordNamespace, RecordHome>>): Records {
  const tables = new Map<string, Table>()
  return {
    isDurable: namespace => homes[namespace].isDurable,
    collection<T>(definition: CollectionDefinition<T>): Collection<T> {
      const name = `${definition.namespace}/${definition.name}`
      const table = tables.get(name) ?? { definition: definition as CollectionDefinition<unknown>, ready: undefined }
      tables.set(name, table)
      if (shapeOf(table.definition) !== shapeOf(definition as CollectionDefinition<unknown>)) table.ready = undefined
      table.definition = definition as CollectionDefinition<unknown>
      return collectionOf<T>(table, homes[definition.namespace])
    },
  }
}

function collectionOf<T>(table: Table, home: RecordHome): Collection<T> {
  /** Opens once; after a failure (a full disk) the next call tries again. */
  async function ready() {
    table.ready ??= openTable(table.definition, home)
    const opening = table.ready
    try {
      return await opening
    } catch (error) {
      if (table.ready === opening) table.ready = undefined
      throw error
    }
  }

  return {
    async get(tenantId, key) {
      const { database, number } = await ready()
      const [version, value] = await database.send('record.get', [number, tenantId, key])
      return version === undefined ? undefined : storedFrom<T>([tenantId, key, version, value ?? null])
    },

    async put(tenantId, key, value, expectedVersion) {
      const json = JSON.stringify(value)
      const { database, number } = await ready()
      const entries = entriesOf(table.definition, json)
      const args = [number, tenantId, key, expectedVersion ?? null, json, ...entries]
      const [version] = await database.send('record.put', args)
      return version === undefined ? { kind: 'conflict' } : { kind: 'written', version: Number(version) }
    },

    async remove(tenantId, key, expectedVersion) {
      const { database, number } = await ready()
      const [removed] = await database.send('record.remove', [number, tenantId, key, expectedVersion ?? null])
      return removed === 1
    },

    async scan({ tenantId, index, from, below, isReverse, limit = DEFAULT_SCAN_LIMIT }: Scan) {
      if (index !== undefined && !table.definition.indexes?.[index])
        throw new Failure('internal_error', `collection ${table.definition.name} has no index ${index}`)
      const { database, number } = await ready()
      const bounds = [from ?? null, below ?? null, isReverse ? 1 : 0, limit]
      const reply = await database.send('record.scan', [number, tenantId ?? null, index ?? null, ...bounds])
      return rowsOf(reply, 4).map(row => storedFrom<T>(row))
    },
  }
}

async function openTable(definition: CollectionDefinition<unknown>, home: RecordHome) {
  const database = await home.open()
  // Namespaces may share a file: when two settings name the same one, and all that are in memory.
  const [number, shape] = await database.send('record.open', [`${definition.namespace}/${definition.name}`])
  const opened = { database, number: Number(number) }
  if (shape !== shapeOf(definition)) await reindex(opened.database, opened.number, definition)
  return opened
}

/** Page by page, so that other work goes on. Records written meanwhile already have their new entries. */
async function reindex(database: OpenDatabase, number: number, definition: CollectionDefinition<unknown>) {
  let after: readonly Value[] = [null, null]
  for (;;) {
    const page = rowsOf(await database.send('record.page', [number, ...after, REINDEX_PAGE]), 4)
    const args: Value[] = [number, page.length]
    for (const [tenantId, key, version, json] of page)
      args.push(tenantId ?? null, key ?? null, version ?? null, ...entriesOf(definition, String(json)))
    const last = page.at(-1)
    if (!last) break
    await database.send('record.reindex', args)
    after = [last[1] ?? null, last[0] ?? null]
  }
  await database.send('record.reshape', [number, shapeOf(definition)])
}

/** `[count, (name, value, is unique)…]`, from the value as it will be read. */
function entriesOf({ indexes, unique = [] }: CollectionDefinition<unknown>, json: string): readonly Value[] {
  const values: Value[] = [0]
  if (!indexes) return values
  const value: unknown = JSON.parse(json)
  let count = 0
  for (const [name, of] of Object.entries(indexes)) {
    const at = of(value)
    if (at === undefined || Number.isNaN(at)) continue
    values.push(name, at, unique.includes(name) ? 1 : 0)
    count += 1
  }
  values[0] = count
  return values
}

const shapeOf = ({ indexes = {} }: CollectionDefinition<unknown>): string => JSON.stringify(Object.keys(indexes).sort())

function storedFrom<T>(row: readonly Value[]): Stored<T> {
  const [tenantId, key, version, json] = row
  return {
    tenantId: String(tenantId),
    key: String(key),
    value: JSON.parse(String(json)) as T,
    version: Number(version),
  }
}
