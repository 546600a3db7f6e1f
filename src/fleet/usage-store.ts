/** Workers that are gone, as long as somebody may still want to know how long they were there. */
import type { UsedGpus, WorkerLifetime } from "../domain/metrics/worker-usage.ts";
import type { ObjectDatabase } from "../durable/sql.ts";

type EndedRow = {
  endpoint_id: string;
  account_id: string;
  gpus: string;
  started_at: number;
  ended_at: number;
};

export class UsageStore {
  readonly #statements: ReturnType<typeof usageStatements>;

  constructor(database: ObjectDatabase) {
    this.#statements = usageStatements(database);
  }

  add(workerId: string, { endpointId, accountId, gpus, from, to }: WorkerLifetime): void {
    const json = JSON.stringify(gpus);
    this.#statements.add.run({ workerId, endpointId, accountId, gpus: json, startedAt: from, endedAt: to });
  }

  /** Workers that ended at `since` or later. */
  endedSince(since: number): WorkerLifetime[] {
    return this.#statements.endedSince.all({ since }).map((row) => ({
      endpointId: row.endpoint_id,
      accountId: row.account_id,
      gpus: JSON.parse(row.gpus) as UsedGpus[],
      from: row.started_at,
      to: row.ended_at,
    }));
  }

  forgetBefore(before: number): void {
    this.#statements.forget.run({ before });
  }
}

function usageStatements(database: ObjectDatabase) {
  return {
    add: database.statement<Record<string, string | number>>(
      `INSERT OR REPLACE INTO ended_worker (ended_at, worker_id, endpoint_id, account_id, gpus, started_at)
       VALUES (:endedAt, :workerId, :endpointId, :accountId, :gpus, :startedAt)`,
    ),
    endedSince: database.statement<{ since: number }, EndedRow>(
      "SELECT * FROM ended_worker WHERE ended_at >= :since",
    ),
    forget: database.statement<{ before: number }>("DELETE FROM ended_worker WHERE ended_at < :before"),
  };
}
