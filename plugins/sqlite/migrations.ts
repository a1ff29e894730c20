import type { Database } from 'better-sqlite3'
import { Refusal } from './protocol.js'

/** Marks a database file as ours (`rwgt`), so that no other program's file is taken over. */
const APPLICATION_ID = 0x72776774

/**
 * Every file has every table, whichever setting named it; a few empty tables are cheaper than four schemas.
 * Append only: a step that was released is never edited. `PRAGMA user_version` counts the steps a file has had.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
  INSERT INTO meta VALUES ('clock', 0);

  -- conversation_n: n of the conversation's first run. Rows of a run point to n, never to the long id.
  CREATE TABLE runs (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, tenant_id TEXT NOT NULL, conversation_id TEXT NOT NULL,
    conversation_n INTEGER NOT NULL, status TEXT NOT NULL, owner TEXT NOT NULL, fence INTEGER NOT NULL,
    record TEXT NOT NULL
  );
  CREATE INDEX runs_of_tenant ON runs (tenant_id);
  CREATE INDEX runs_of_conversation ON runs (tenant_id, conversation_id);
  CREATE INDEX runs_by_status ON runs (status, tenant_id);

  -- The parts of a record that a step never changes and that may be large.
  CREATE TABLE run_drafts (run_n INTEGER PRIMARY KEY, draft TEXT NOT NULL);

  -- One row per commit, not per event: lines are the events' data, types their types, one per line. n is append order.
  CREATE TABLE stretches (
    n INTEGER PRIMARY KEY, run_n INTEGER NOT NULL, conversation_n INTEGER NOT NULL,
    first INTEGER NOT NULL, count INTEGER NOT NULL, types TEXT NOT NULL, lines TEXT NOT NULL
  );
  CREATE INDEX stretches_of_run ON stretches (run_n, first);
  CREATE INDEX stretches_of_conversation ON stretches (conversation_n);

  -- One row per commit or note, entries as lines of JSON. Gone when the run settles.
  CREATE TABLE journal (n INTEGER PRIMARY KEY, run_n INTEGER NOT NULL, note TEXT, lines TEXT NOT NULL);
  CREATE INDEX journal_of_run ON journal (run_n, note);

  -- AUTOINCREMENT: an id is never given out twice, or an old "consumed" could swallow a new letter.
  CREATE TABLE letters (
    n INTEGER PRIMARY KEY AUTOINCREMENT, run_n INTEGER NOT NULL, kind TEXT NOT NULL, key TEXT, body TEXT,
    consumed INTEGER NOT NULL DEFAULT 0
  );
  CREATE UNIQUE INDEX letters_by_key ON letters (run_n, key) WHERE key IS NOT NULL;
  CREATE INDEX letters_waiting ON letters (run_n) WHERE consumed = 0;

  CREATE TABLE idempotency (
    tenant_id TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, run_id TEXT NOT NULL,
    expires_at INTEGER NOT NULL, PRIMARY KEY (tenant_id, key)
  ) WITHOUT ROWID;
  CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);

  CREATE TABLE keys (
    n INTEGER PRIMARY KEY, prefix TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, tenant_id TEXT NOT NULL,
    name TEXT NOT NULL, scopes TEXT NOT NULL, created_at TEXT NOT NULL, expires_at TEXT, revoked_at TEXT,
    last_used_at TEXT
  );

  CREATE TABLE conversations (
    n INTEGER PRIMARY KEY, tenant_id TEXT NOT NULL, id TEXT NOT NULL, title TEXT, workspace TEXT,
    pinned INTEGER NOT NULL DEFAULT 0, message_count INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL, cost_usd REAL NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
    UNIQUE (tenant_id, id)
  );
  CREATE TABLE messages (
    conversation_n INTEGER NOT NULL REFERENCES conversations (n) ON DELETE CASCADE, position INTEGER NOT NULL,
    message TEXT NOT NULL, UNIQUE (conversation_n, position)
  );
  CREATE TABLE conversation_runs (
    conversation_n INTEGER NOT NULL REFERENCES conversations (n) ON DELETE CASCADE, run_id TEXT NOT NULL,
    PRIMARY KEY (conversation_n, run_id)
  ) WITHOUT ROWID;

  -- shape: the index list the entries were made for.
  CREATE TABLE collections (n INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, shape TEXT NOT NULL);
  CREATE TABLE records (
    collection_n INTEGER NOT NULL, tenant_id TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL,
    value TEXT NOT NULL, UNIQUE (collection_n, tenant_id, key)
  );
  CREATE INDEX records_by_key ON records (collection_n, key, tenant_id);
  CREATE TABLE entries (
    collection_n INTEGER NOT NULL, name TEXT NOT NULL, tenant_id TEXT NOT NULL, at NOT NULL, key TEXT NOT NULL,
    PRIMARY KEY (collection_n, name, tenant_id, at, key)
  ) WITHOUT ROWID;
  CREATE INDEX entries_of_all ON entries (collection_n, name, at, key, tenant_id);
  CREATE INDEX entries_of_record ON entries (collection_n, tenant_id, key);
  `,
  `
  -- An event beside the runs of a conversation is a stretch of its own: first is -1, so that no run's log shows it, and
  -- mark names it.
  ALTER TABLE stretches ADD COLUMN mark TEXT;
  CREATE UNIQUE INDEX stretches_by_mark ON stretches (mark) WHERE mark IS NOT NULL;
  `,
  `
  -- The positions of a run's messages, start to before stop; unknown once the conversation was rewritten.
  ALTER TABLE conversation_runs ADD COLUMN start INTEGER;
  ALTER TABLE conversation_runs ADD COLUMN stop INTEGER;
  `,
]

/**
 * Brings a file to the schema of this build, each step in a transaction of its own that also counts it, so that a step
 * is done or not begun. Refuses files of a newer build and of other programs. Two processes may do it at once.
 */
export function migrate(database: Database, path: string, migrations: readonly string[] = MIGRATIONS): void {
  for (;;) {
    if (schemaVersionOf(database, path, migrations) === migrations.length) return
    database.exec('BEGIN IMMEDIATE')
    try {
      // Read again: another process may have done this step while we waited for the lock.
      const version = schemaVersionOf(database, path, migrations)
      const step = migrations[version]
      if (step !== undefined) {
        database.exec(step)
        database.pragma(`application_id = ${APPLICATION_ID}`)
        database.pragma(`user_version = ${version + 1}`)
      }
      database.exec('COMMIT')
    } catch (error) {
      if (database.inTransaction) database.exec('ROLLBACK')
      throw error
    }
  }
}

/** How many steps a file has had. Refuses files of a newer build and of other programs, and changes nothing. */
export function schemaVersionOf(database: Database, path: string, migrations: readonly string[] = MIGRATIONS): number {
  const version = database.pragma('user_version', { simple: true }) as number
  const owner = database.pragma('application_id', { simple: true }) as number
  const tables = database.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number
  const isOurs = owner === APPLICATION_ID || (owner === 0 && version === 0 && tables === 0)
  if (!isOurs) throw new Refusal('store_unavailable', `${path} is a database of another program; name another file`)
  if (version > migrations.length)
    throw new Refusal(
      'store_unavailable',
      `${path} was written by a newer runwright (schema ${version}, this build knows ${migrations.length}); ` +
        'start the newer build, or restore a copy made before the upgrade',
    )
  return version
}
