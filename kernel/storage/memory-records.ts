import { Failure } from '#contracts/errors'
import type { Collection, CollectionDefinition, IndexValue, Records, Scan, Stored } from '#contracts/store/records'
import { compareIndexValues, compareText } from './index-order.js'

const DEFAULT_SCAN_LIMIT = 100

/** Value as JSON text, so that nobody shares an object with the store. */
interface Row {
  readonly tenantId: string
  readonly key: string
  readonly json: string
  readonly version: number
  indexed: Readonly<Record<string, IndexValue | undefined>>
}

interface Table {
  definition: CollectionDefinition<unknown>
  readonly rows: Map<string, Row>
}

/** Records that end with the process. A name opened again takes the newer definition, as after a reload. */
export function createMemoryRecords(): Records {
  const tables = new Map<string, Table>()
  return {
    isDurable: () => false,
    collection<T>(definition: CollectionDefinition<T>): Collection<T> {
      const table = tableOf(tables, definition as CollectionDefinition<unknown>)
      return collectionOf<T>(table)
    },
  }
}

function tableOf(tables: Map<string, Table>, definition: CollectionDefinition<unknown>): Table {
  const name = `${definition.namespace}/${definition.name}`
  const table = tables.get(name) ?? { definition, rows: new Map<string, Row>() }
  tables.set(name, table)
  table.definition = definition
  for (const row of table.rows.values()) row.indexed = indexedBy(definition, JSON.parse(row.json))
  return table
}

function indexedBy({ indexes = {} }: CollectionDefinition<unknown>, value: unknown) {
  const entries = Object.entries(indexes).map(([name, of]) => [name, of(value)] as const)
  return Object.fromEntries(entries.filter(([, at]) => at !== undefined && !Number.isNaN(at)))
}

function collectionOf<T>(table: Table): Collection<T> {
  const { rows } = table
  const idOf = (tenantId: string, key: string) => `${tenantId}\0${key}`
  const read = ({ tenantId, key, json, version }: Row): Stored<T> => ({
    tenantId,
    key,
    value: JSON.parse(json) as T,
    version,
  })

  const isTaken = (tenantId: string, key: string, indexed: Row['indexed']) =>
    (table.definition.unique ?? []).some(
      name =>
        indexed[name] !== undefined &&
        [...rows.values()].some(
          row => row.tenantId === tenantId && row.key !== key && row.indexed[name] === indexed[name],
        ),
    )

  return {
    async get(tenantId, key) {
      const row = rows.get(idOf(tenantId, key))
      return row && read(row)
    },

    async put(tenantId, key, value, expectedVersion) {
      const json = JSON.stringify(value)
      const indexed = indexedBy(table.definition, JSON.parse(json))
      const current = rows.get(idOf(tenantId, key))?.version ?? 0
      if (expectedVersion !== undefined && expectedVersion !== current) return { kind: 'conflict' }
      if (isTaken(tenantId, key, indexed)) return { kind: 'conflict' }
      const version = current + 1
      rows.set(idOf(tenantId, key), { tenantId, key, json, version, indexed })
      return { kind: 'written', version }
    },

    async remove(tenantId, key, expectedVersion) {
      const row = rows.get(idOf(tenantId, key))
      if (!row || (expectedVersion !== undefined && expectedVersion !== row.version)) return false
      return rows.delete(idOf(tenantId, key))
    },

    async scan({ tenantId, index, from, below, isReverse, limit = DEFAULT_SCAN_LIMIT }: Scan) {
      if (index !== undefined && !table.definition.indexes?.[index])
        throw new Failure('internal_error', `collection ${table.definition.name} has no index ${index}`)
      const place = (row: Row) => (index === undefined ? row.key : row.indexed[index])
      const found = [...rows.values()].filter(row => {
        const at = place(row)
        if (at === undefined || (tenantId !== undefined && row.tenantId !== tenantId)) return false
        if (from !== undefined && compareIndexValues(at, from) < 0) return false
        return below === undefined || compareIndexValues(at, below) < 0
      })
      found.sort(
        (a, b) =>
          compareIndexValues(place(a) as IndexValue, place(b) as IndexValue) ||
          compareText(a.key, b.key) ||
          compareText(a.tenantId, b.tenantId),
      )
      if (isReverse) found.reverse()
      return found.slice(0, limit).map(read)
    },
  }
}
