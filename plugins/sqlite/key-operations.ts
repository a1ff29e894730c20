import type { Prepared } from './prepared.js'
import { type Arguments, type Operations, Refusal, type Value } from './protocol.js'

const COLUMNS = 'prefix, digest, tenant_id, name, scopes, created_at, expires_at, revoked_at, last_used_at'

/** API keys on the database thread. Nothing is remembered: another process may write at any time. */
export function keyOperations(prepared: Prepared): Operations {
  return {
    reads: {
      'key.find': args =>
        (prepared(`SELECT ${COLUMNS} FROM keys WHERE prefix = ?`).get(args.text()) as Value[] | undefined) ?? [],
      'key.list': () =>
        (prepared(`SELECT ${COLUMNS} FROM keys ORDER BY created_at DESC, n DESC`).all() as Value[][]).flat(),
    },
    writes: { 'key.add': add, 'key.revoke': revoke, 'key.touch': touch },
  }

  function add(args: Arguments): readonly Value[] {
    const key = Array.from({ length: 9 }, () => args.value())
    const [prefix] = key
    if (prepared('SELECT 1 FROM keys WHERE prefix = ?').get(prefix) !== undefined)
      throw new Refusal('conflict', `there already is a key ${prefix}; create another one`)
    prepared(`INSERT INTO keys (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`).run(...key)
    return []
  }

  function revoke(args: Arguments): readonly Value[] {
    const [prefix, time] = [args.text(), args.text()]
    return [prepared('UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE prefix = ?').run(time, prefix).changes]
  }

  function touch(args: Arguments): readonly Value[] {
    const [prefix, time] = [args.text(), args.text()]
    prepared('UPDATE keys SET last_used_at = ? WHERE prefix = ?').run(time, prefix)
    return []
  }
}
