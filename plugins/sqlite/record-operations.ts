import type { Prepared } from './prepared.js'
import type { Arguments, Operations, Value } from './protocol.js'

interface Entry {
  readonly name: string
  readonly at: Value
  readonly isUnique: boolean
}

/** Records and their index entries on the database thread. A collection is known by its number from `record.open`. */
export function recordOperations(prepared: Prepared): Operations {
  /** `[name]` → `[number, shape its entries were made for]`. */
  function open(args: Arguments): readonly Value[] {
    const name = args.text()
    prepared('INSERT OR IGNORE INTO collections (name, shape) VALUES (?, ?)').run(name, '[]')
    return prepared('SELECT n, shape FROM collections WHERE name = ?').get(name) as Value[]
  }

  /** `[collection, tenant, key]` → `[version, value]`, or nothing. */
  function get(args: Arguments): readonly Value[] {
    const row = prepared('SELECT version, value FROM records WHERE collection_n = ? AND tenant_id = ? AND key = ?').get(
      args.number(),
      args.text(),
      args.text(),
    )
    return (row as Value[] | undefined) ?? []
  }

  function versionOf(collectionN: number, tenantId: string, key: string): number {
    const row = prepared('SELECT version FROM records WHERE collection_n = ? AND tenant_id = ? AND key = ?').get(
      collectionN,
      tenantId,
      key,
    )
    return (row as [number] | undefined)?.[0] ?? 0
  }

  function readEntries(args: Arguments): readonly Entry[] {
    return Array.from({ length: args.number() }, () => ({
      name: args.text(),
      at: args.value(),
      isUnique: args.number() === 1,
    }))
  }

  function writeEntries(collectionN: number, tenantId: string, key: string, entries: readonly Entry[]): void {
    prepared('DELETE FROM entries WHERE collection_n = ? AND tenant_id = ? AND key = ?').run(collectionN, tenantId, key)
    for (const { name, at } of entries)
      prepared('INSERT INTO entries (collection_n, name, tenant_id, at, key) VALUES (?, ?, ?, ?, ?)').run(
        collectionN,
        name,
        tenantId,
        at,
        key,
      )
  }

  /** `[collection, tenant, key, expected?, value, entries]` → `[version]`, or nothing for a conflict. */
  function put(args: Arguments): readonly Value[] {
    const [collectionN, tenantId, key, expected] = [args.number(), args.text(), args.text(), args.optionalNumber()]
    const [value, entries] = [args.text(), readEntries(args)]
    const version = versionOf(collectionN, tenantId, key)
    if (expected !== undefined && expected !== version) return []
    const isTaken = entries.some(
      ({ name, at, isUnique }) =>
        isUnique &&
        prepared(
          'SELECT 1 FROM entries WHERE collection_n = ? AND name = ? AND tenant_id = ? AND at = ? AND key <> ?',
        ).get(collectionN, name, tenantId, at, key) !== undefined,
    )
    if (isTaken) return []
    prepared(
      `INSERT INTO records (collection_n, tenant_id, key, version, value) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (collection_n, tenant_id, key) DO UPDATE SET version = excluded.version, value = excluded.value`,
    ).run(collectionN, tenantId, key, version + 1, value)
    writeEntries(collectionN, tenantId, key, entries)
    return [version + 1]
  }

  /** `[collection, tenant, key, expected?]` → 1 when it was removed. */
  function remove(args: Arguments): readonly Value[] {
    const [collectionN, tenantId, key, expected] = [args.number(), args.text(), args.text(), args.optionalNumber()]
    const version = versionOf(collectionN, tenantId, key)
    if (version === 0 || (expected !== undefined && expected !== version)) return [0]
    prepared('DELETE FROM records WHERE collection_n = ? AND tenant_id = ? AND key = ?').run(collectionN, tenantId, key)
    writeEntries(collectionN, tenantId, key, [])
    return [1]
  }

  /** `[collection, tenant?, index?, from?, below?, is reverse, limit]` → `[tenant, key, version, value]` of each. */
  function scan(args: Arguments): readonly Value[] {
    const collectionN = args.number()
    const [tenantId, index, from, below] = [args.value(), args.value(), args.value(), args.value()]
    const order = args.number() === 1 ? 'DESC' : 'ASC'
    const limit = args.number()
    const at = index === null ? 'r.key' : 'e.at'
    const bindings: Value[] = [collectionN]
    let where = `${index === null ? 'r' : 'e'}.collection_n = ?`
    const narrow = (condition: string, value: Value) => {
      if (value === null) return
      where += ` AND ${condition}`
      bindings.push(value)
    }
    narrow('e.name = ?', index)
    narrow(`${index === null ? 'r' : 'e'}.tenant_id = ?`, tenantId)
    narrow(`${at} >= ?`, from)
    narrow(`${at} < ?`, below)
    const join =
      index === null
        ? 'records r'
        : 'entries e CROSS JOIN records r ON r.collection_n = e.collection_n AND r.tenant_id = e.tenant_id AND r.key = e.key'
    const by =
      index === null ? `r.key ${order}, r.tenant_id ${order}` : `e.at ${order}, e.key ${order}, e.tenant_id ${order}`
    const rows = prepared(
      `SELECT r.tenant_id, r.key, r.version, r.value FROM ${join} WHERE ${where} ORDER BY ${by} LIMIT ?`,
    ).all(...bindings, limit)
    return (rows as Value[][]).flat()
  }

  /** `[collection, shape]`: from here on the entries are those of the new index list. Old ones go. */
  function reshape(args: Arguments): readonly Value[] {
    const [collectionN, shape] = [args.number(), args.text()]
    prepared('UPDATE collections SET shape = ? WHERE n = ?').run(shape, collectionN)
    return []
  }

  /** `[collection, count, (tenant, key, version, entries)…]`: new entries for records that are still at that version. */
  function reindex(args: Arguments): readonly Value[] {
    const collectionN = args.number()
    for (let left = args.number(); left > 0; left -= 1) {
      const [tenantId, key, version] = [args.text(), args.text(), args.number()]
      const entries = readEntries(args)
      if (versionOf(collectionN, tenantId, key) === version) writeEntries(collectionN, tenantId, key, entries)
    }
    return []
  }

  /** `[collection, after key?, after tenant?, limit]` → a page of every tenant's records, for re-indexing. */
  function page(args: Arguments): readonly Value[] {
    const [collectionN, key, tenantId, limit] = [args.number(), args.value(), args.value(), args.number()]
    const rows = prepared(
      `SELECT tenant_id, key, version, value FROM records
       WHERE collection_n = ? AND (key, tenant_id) > (?, ?) ORDER BY key, tenant_id LIMIT ?`,
    ).all(collectionN, key ?? '', tenantId ?? '', limit)
    return (rows as Value[][]).flat()
  }

  return {
    reads: { 'record.get': get, 'record.scan': scan, 'record.page': page },
    writes: {
      'record.open': open,
      'record.put': put,
      'record.remove': remove,
      'record.reshape': reshape,
      'record.reindex': reindex,
    },
  }
}
