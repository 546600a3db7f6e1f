/** The tables of a Fleet object. A migration that was ever deployed is never edited. */
export const FLEET_MIGRATIONS = [
  `CREATE TABLE host (
     host_id       TEXT PRIMARY KEY,
     account_id    TEXT    NOT NULL,
     agent_version TEXT    NOT NULL,
     inventory     TEXT    NOT NULL,
     -- Grows whenever the set of workers that the host shall run changes.
     revision      INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;

   CREATE TABLE worker (
     worker_id   TEXT PRIMARY KEY,
     endpoint_id TEXT    NOT NULL,
     host_id     TEXT    NOT NULL,
     version     INTEGER NOT NULL,
     gpu_indexes TEXT    NOT NULL,
     state       TEXT    NOT NULL,
     detail      TEXT,
     created_at  INTEGER NOT NULL,
     -- Revision of the host without this worker; the row goes when an agent that applied it lists it no more.
     retired_in  INTEGER
   ) STRICT, WITHOUT ROWID;

   CREATE TABLE wish (
     endpoint_id TEXT PRIMARY KEY,
     wanted      INTEGER NOT NULL,
     config      TEXT    NOT NULL
   ) STRICT, WITHOUT ROWID;

   -- Endpoints that have not heard the latest of their workers.
   CREATE TABLE unsent (endpoint_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;`,

  `-- When the worker came up, as JSON.
   ALTER TABLE worker ADD COLUMN start TEXT;`,

  `-- What the worker takes of its host beside GPUs, as JSON.
   ALTER TABLE worker ADD COLUMN size TEXT;
   ALTER TABLE host ADD COLUMN name TEXT NOT NULL DEFAULT '';
   ALTER TABLE host ADD COLUMN cordoned INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE host ADD COLUMN drained INTEGER NOT NULL DEFAULT 0;
   -- The row stays until the host's token is known to be revoked everywhere.
   ALTER TABLE host ADD COLUMN removed_at INTEGER;`,

  `-- Since when the worker is on standby, how often it was revived, and when last.
   ALTER TABLE worker ADD COLUMN standby_at INTEGER;
   ALTER TABLE worker ADD COLUMN revivals INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE worker ADD COLUMN revived_at INTEGER;`,
  `-- What the container of the worker runs, by its content.
   ALTER TABLE worker ADD COLUMN image_digest TEXT;
   -- Where the workers in whose place it came had failed, as JSON.
   ALTER TABLE worker ADD COLUMN moves TEXT;`,
  `-- Workers that are gone, until the usage of their hours is in D1.
   CREATE TABLE ended_worker (
     ended_at    INTEGER NOT NULL,
     worker_id   TEXT    NOT NULL,
     endpoint_id TEXT    NOT NULL,
     account_id  TEXT    NOT NULL,
     gpus        TEXT    NOT NULL,
     started_at  INTEGER NOT NULL,
     PRIMARY KEY (ended_at, worker_id)
   ) STRICT, WITHOUT ROWID;`,
  `-- Workers that are gone, as long as their hosts may still bring lines of them.
   CREATE TABLE gone_worker (
     worker_id   TEXT PRIMARY KEY,
     endpoint_id TEXT    NOT NULL,
     host_id     TEXT    NOT NULL,
     gone_at     INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;`,
  `ALTER TABLE wish RENAME COLUMN wanted TO desired;
   ALTER TABLE wish RENAME TO desired_workers;`,
  `-- Pods: whether each shall run, why not and since when, and the host that has its volume.
   CREATE TABLE pod (
     pod_id         TEXT PRIMARY KEY,
     config         TEXT    NOT NULL,
     -- Of its container.
     version        INTEGER NOT NULL,
     desired        TEXT    NOT NULL,
     stop_reason    TEXT,
     created_at     INTEGER NOT NULL,
     changed_at     INTEGER NOT NULL,
     volume_host_id TEXT,
     -- Published ports of its container, as JSON.
     ports          TEXT    NOT NULL
   ) STRICT, WITHOUT ROWID;
   -- The worker is the container of a pod, whose id its id is.
   ALTER TABLE worker ADD COLUMN is_pod INTEGER NOT NULL DEFAULT 0;
   -- What its last version had beside it and may still use, as JSON.
   ALTER TABLE worker ADD COLUMN leaving TEXT;
   -- Since when a host that has pods has been lost.
   ALTER TABLE host ADD COLUMN away_since INTEGER;`,
  `-- Where the other pods of its cluster reach a pod.
   ALTER TABLE pod ADD COLUMN cluster_address TEXT;`,
  `-- How many volumes of a pod there were before its present one.
   ALTER TABLE pod ADD COLUMN volume_number INTEGER NOT NULL DEFAULT 0;`,
  `-- Rows of other accounts, which their own objects take over, as JSON; see handover.ts.
   CREATE TABLE handover (
     account_id TEXT NOT NULL,
     -- Of the table.
     name       TEXT NOT NULL,
     row        TEXT NOT NULL
   ) STRICT;
   CREATE INDEX handover_account ON handover (account_id);
   -- Steps of the handover that this object has taken.
   CREATE TABLE step (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;`,
  `-- What its owner says it costs, as JSON; null for nominal prices.
   ALTER TABLE host ADD COLUMN price TEXT;
   ALTER TABLE worker ADD COLUMN ready_at INTEGER;
   ALTER TABLE ended_worker ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE ended_worker ADD COLUMN ready_at INTEGER;
   -- Dollars; null in rows from before.
   ALTER TABLE ended_worker ADD COLUMN per_hour REAL;`,
  `-- What may be spent: of an endpoint, or of the account, whose scope is empty. As JSON.
   CREATE TABLE budget (scope TEXT PRIMARY KEY, json TEXT NOT NULL) STRICT, WITHOUT ROWID;
   -- Dollars that ended workers of an endpoint have cost on a day, beside those in ended_worker.
   CREATE TABLE spent_day (
     endpoint_id TEXT    NOT NULL,
     day         INTEGER NOT NULL,
     cost        REAL    NOT NULL,
     PRIMARY KEY (endpoint_id, day)
   ) STRICT, WITHOUT ROWID;`,
] as const;
