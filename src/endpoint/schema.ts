/** The tables of an Endpoint object. A migration that was ever deployed is never edited. */
export const ENDPOINT_MIGRATIONS = [
  `CREATE TABLE job (
     seq                  INTEGER PRIMARY KEY,
     nonce                TEXT    NOT NULL,
     state                TEXT    NOT NULL
       CHECK (state IN ('queued', 'running', 'completed', 'failed', 'cancelled', 'timed_out')),
     is_sync              INTEGER NOT NULL CHECK (is_sync IN (0, 1)),
     attempt              INTEGER NOT NULL,
     retries              INTEGER NOT NULL,
     rescues              INTEGER NOT NULL,
     created_at           INTEGER NOT NULL,
     queued_at            INTEGER NOT NULL,
     expires_at           INTEGER NOT NULL,
     execution_timeout_ms INTEGER NOT NULL,
     started_at           INTEGER,
     finished_at          INTEGER,
     remove_at            INTEGER,
     worker_id            TEXT,
     host_id              TEXT,
     input                TEXT    NOT NULL,
     options              TEXT    NOT NULL,
     output               TEXT,
     error                TEXT,
     CHECK ((state IN ('queued', 'running')) = (finished_at IS NULL)),
     CHECK ((finished_at IS NULL) = (remove_at IS NULL)),
     CHECK (state <> 'running' OR (started_at IS NOT NULL AND worker_id IS NOT NULL AND host_id IS NOT NULL))
   ) STRICT;

   -- Jobs that are queued again, out of the order of submission. Few, so a second row for them is cheap.
   CREATE TABLE requeued (seq INTEGER PRIMARY KEY) STRICT;

   -- Single values: config, checkpoint, wish, report.
   CREATE TABLE fact (name TEXT PRIMARY KEY, json TEXT NOT NULL) STRICT, WITHOUT ROWID;`,

  // Only jobs that were submitted with a key of their own pay for these.
  `ALTER TABLE job ADD COLUMN idempotency_key TEXT;
   CREATE TABLE idempotency (key TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID;`,

  `-- Chunks that handlers yielded, a row for all that came in one exchange. Text last: most reads want the rest.
   CREATE TABLE chunk (
     seq         INTEGER NOT NULL,
     position    INTEGER NOT NULL,
     count       INTEGER NOT NULL,
     attempt     INTEGER NOT NULL,
     number      INTEGER NOT NULL,
     total_bytes INTEGER NOT NULL,
     wire        TEXT    NOT NULL,
     PRIMARY KEY (seq, position)
   ) STRICT, WITHOUT ROWID;

   -- How far a stream was drained; only for jobs of which something was.
   CREATE TABLE drained (seq INTEGER PRIMARY KEY, position INTEGER NOT NULL) STRICT;`,

  `-- Null in jobs from before: 30 minutes, or 1 for a runsync.
   ALTER TABLE job ADD COLUMN retention_ms INTEGER;
   -- What happened to the job beyond what its columns say, as JSON; null while there is nothing.
   ALTER TABLE job ADD COLUMN trace TEXT;`,
  `-- The page of the outbox that tells of the job's end; 0 while there is none, null for a job without a webhook.
   ALTER TABLE job ADD COLUMN webhook_page INTEGER;

   -- Webhooks to be sent, and the log of those sent: many on a page. The key lets the open pages be found alone.
   CREATE TABLE webhook_page (
     is_open    INTEGER NOT NULL CHECK (is_open IN (0, 1)),
     page       INTEGER NOT NULL,
     remove_at  INTEGER NOT NULL,
     deliveries TEXT    NOT NULL,
     PRIMARY KEY (is_open, page)
   ) STRICT, WITHOUT ROWID;`,

  `CREATE TABLE batch (
     number           INTEGER PRIMARY KEY,
     nonce            TEXT    NOT NULL,
     state            TEXT    NOT NULL CHECK (state IN ('draft', 'starting', 'started', 'cancelling', 'cancelled')),
     name             TEXT,
     created_at       INTEGER NOT NULL,
     touched_at       INTEGER NOT NULL,
     request_count    INTEGER NOT NULL,
     next_request     INTEGER NOT NULL,
     ranges           TEXT    NOT NULL,
     removed_completed INTEGER NOT NULL,
     ended_completed  INTEGER,
     idempotency_key  TEXT
   ) STRICT;

   -- Requests that are no jobs yet, many in a row; the text is a JSON array.
   CREATE TABLE batch_pack (
     batch    INTEGER NOT NULL,
     first    INTEGER NOT NULL,
     live     INTEGER NOT NULL,
     requests TEXT    NOT NULL,
     PRIMARY KEY (batch, first)
   ) STRICT, WITHOUT ROWID;`,

  `-- What the endpoint did: pages of minutes, and hours. Slots are used again, so nothing is ever removed.
   CREATE TABLE activity (
     kind TEXT    NOT NULL CHECK (kind IN ('page', 'hour')),
     slot INTEGER NOT NULL,
     at   INTEGER NOT NULL,
     json TEXT    NOT NULL,
     PRIMARY KEY (kind, slot)
   ) STRICT, WITHOUT ROWID;`,

  `-- Bytes of inputs in R2: of the job, and of all jobs that its lane got until then. Null in jobs from before.
   ALTER TABLE job ADD COLUMN stored_input INTEGER;
   ALTER TABLE job ADD COLUMN stored_total INTEGER;
   -- Of the requests in its packs.
   ALTER TABLE batch ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0;
   UPDATE batch SET stored_bytes = (
     SELECT coalesce(sum(request.value ->> '$.input.sizeBytes'), 0) FROM batch_pack, json_each(requests) AS request
      WHERE batch_pack.batch = batch.number AND request.value ->> '$.input.kind' = 'stored'
   );`,

  `-- Facts under the names of the glossary: desired workers, rollout, claims that no row tells.
   UPDATE fact SET name = 'desired_workers', json = json_set(
     json_remove(json, '$.wanted', '$.isTold'), '$.desired', json -> '$.wanted', '$.isSent', json -> '$.isTold'
   ) WHERE name = 'wish';
   UPDATE fact SET name = 'rollout', json = json_set(json_remove(json, '$.room'), '$.eviction', json -> '$.room')
    WHERE name = 'release';
   UPDATE fact SET name = 'claims:' || substr(name, 6) WHERE name >= 'hand:' AND name < 'hand;';`,
] as const;
