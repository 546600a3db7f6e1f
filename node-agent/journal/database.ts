/** The SQLite database of the journal. */
import { chmodSync, closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import * as z from "zod";

/** Numbered migrations; an applied one is never edited. */
const JOURNAL_MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE worker (
    worker_id TEXT PRIMARY KEY,
    token TEXT NOT NULL,
    has_taken INTEGER NOT NULL CHECK (has_taken IN (0, 1)),
    assignment TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE attempt (
    job_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    worker_id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    execution_timeout_ms INTEGER NOT NULL,
    PRIMARY KEY (job_id, attempt)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE report (
    job_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    worker_id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (job_id, attempt)
  ) STRICT;

  CREATE TABLE chunk (
    job_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    output TEXT NOT NULL,
    PRIMARY KEY (job_id, attempt, sequence)
  ) STRICT;
  `,
  // A large result beside its report, since it is uploaded on its own.
  "ALTER TABLE report ADD COLUMN output TEXT;",
  // Variables and registry logins may hold secrets: after a restart the agent gets them from the edge.
  `UPDATE worker SET assignment = json_remove(assignment, '$.env', '$.registryAuth');`,
  `
  -- Images that the agent has pulled and may remove again.
  CREATE TABLE cached (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    content_id TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
  ) STRICT, WITHOUT ROWID;
  `,
  // The position up to which the edge has a worker's output, and the number of the last line.
  `CREATE TABLE output_place (
    worker_id TEXT PRIMARY KEY,
    position TEXT NOT NULL,
    seq INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;`,
  // Where the worker's own server listens: the next container may have other variables than the running one.
  "ALTER TABLE worker ADD COLUMN server TEXT;",
  // Published ports of pods, as JSON; they stay while the pod is stopped.
  `CREATE TABLE pod (
    pod_id TEXT PRIMARY KEY,
    ports TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;`,
  // First processes of commands that users run in containers.
  `CREATE TABLE command (
    pid INTEGER PRIMARY KEY,
    start TEXT NOT NULL,
    namespace TEXT
  ) STRICT;`,
  // Of attempts from before it is not known.
  "ALTER TABLE attempt ADD COLUMN is_delivered INTEGER NOT NULL DEFAULT 1 CHECK (is_delivered IN (0, 1));",
];

/** Opens and migrates a database; throws when another process has it open. */
export function openDatabase(path: string): DatabaseSync {
  closeSync(openSync(path, "a", 0o600)); // it holds worker tokens and results
  chmodSync(path, 0o600);
  const database = new DatabaseSync(path);
  try {
    // Exclusive: the lock dies with the process (J3), and no shared-memory file is needed.
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    database.exec("BEGIN IMMEDIATE; COMMIT");
    migrate(database);
    return database;
  } catch (error) {
    database.close();
    if (error instanceof Error && /locked/.test(error.message)) {
      throw new Error(`Another agent runs on ${path}. Stop it, or give this one its own --state directory.`);
    }
    throw error;
  }
}

function migrate(database: DatabaseSync): void {
  const row = z.object({ user_version: z.number() }).parse(database.prepare("PRAGMA user_version").get());
  for (const [index, migration] of JOURNAL_MIGRATIONS.entries()) {
    if (index < row.user_version) continue;
    database.exec(`BEGIN; ${migration} PRAGMA user_version = ${index + 1}; COMMIT`);
  }
}
