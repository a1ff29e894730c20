import type { Database, Statement } from 'better-sqlite3'

/** Prepares each statement once per connection, when it is first needed. */
export type Prepared = (sql: string) => Statement<unknown[], unknown>

export function preparedOn(database: Database): Prepared {
  const statements = new Map<string, Statement<unknown[], unknown>>()
  return sql => {
    const known = statements.get(sql)
    if (known) return known
    const statement = database.prepare<unknown[], unknown>(sql)
    // Rows come as arrays, in the order of the columns: that is how they go to the other thread.
    if (statement.reader) statement.raw(true)
    statements.set(sql, statement)
    return statement
  }
}
