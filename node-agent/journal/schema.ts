/** Numbered migrations of the journal; an applied one is never edited. */
export const JOURNAL_MIGRATIONS: readonly string[] = [
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
  // A large result beside its report, for it goes to the edge by itself.
  "ALTER TABLE report ADD COLUMN output TEXT;",
  // Variables and registry logins may come of secrets: an agent that starts anew asks the edge for them.
  `UPDATE worker SET assignment = json_remove(assignment, '$.env', '$.registryAuth');`,
  `
  -- What the agent has brought to this host and may remove again.
  CREATE TABLE cached (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    content_id TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
  ) STRICT, WITHOUT ROWID;
  `,
  // Up to where the edge has a worker's output, and the number of the last line.
  `CREATE TABLE output_place (
    worker_id TEXT PRIMARY KEY,
    position TEXT NOT NULL,
    seq INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;`,
  // Where the worker's own server listens: the container that runs may be of other variables than the next one.
  "ALTER TABLE worker ADD COLUMN server TEXT;",
];
