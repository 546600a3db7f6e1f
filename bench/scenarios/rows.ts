/** Rows that operations read and write with few and with many jobs queued, counted on an edge with meters. */
import { setTimeout as delay } from "node:timers/promises";
import type { CommandedWorker, Contestant } from "../contestants/contestant.ts";
import type { Edge } from "../contestants/edge.ts";
import { edgerunOn } from "../contestants/edgerun.ts";
import { JOB_BODY } from "../contestants/handler.ts";
import type { LoadResult, RequestKind } from "../load/order.ts";
import { readMeters, startMeteredEdge, usageBetween } from "../metered-edge/metered-edge.ts";
import { type Bench, note, type Scenario } from "./bench.ts";

const DEPTHS = [1_000, 100_000, 995_000] as const;
const QUICK_DEPTHS: readonly number[] = [1_000];
const CALLS = 100;
/** Jobs that go through the queue while their worker takes as many as it can at a time. */
const BACKLOG = 960;
const SUBMIT = { method: "POST", path: "/run", body: JOB_BODY } as const;
const QUIET_MS = 1_000;

export const rows: Scenario = {
  name: "rows",
  async run(bench) {
    await using edge = await startMeteredEdge();
    await using edgerun = await edgerunOn(edge);
    await edgerun.worker.pause();
    for (const queued of bench.isQuick ? QUICK_DEPTHS : DEPTHS) {
      await edgerun.worker.fillTo(queued);
      await untilQuiet(edge);
      await countAll({ bench, edge, edgerun, variant: `${queued.toLocaleString("en")} queued` });
    }
  },
};

type Counting = {
  readonly bench: Bench;
  readonly edge: Edge;
  readonly edgerun: Contestant & { readonly worker: CommandedWorker };
  readonly variant: string;
};

async function countAll(counting: Counting): Promise<void> {
  const { worker } = counting.edgerun;
  const count = (operation: string, times: number, work: () => Promise<unknown>) =>
    countRows(counting, operation, times, work);
  let ids: readonly string[] = [];
  await count("run", CALLS, async () => ({ ids } = await send(counting, SUBMIT, CALLS)));
  await count("status", CALLS, () => send(counting, { method: "GET", path: "/status/$ID" }, CALLS, ids));
  await count("cancel", CALLS, () => send(counting, { method: "POST", path: "/cancel/$ID" }, CALLS, ids));
  await count("health", CALLS, () => send(counting, { method: "GET", path: "/health" }, CALLS));
  await count("claim and finish, one job at a time", CALLS, () => worker.claim(CALLS));
  await count("run, claim and finish, 64 slots", BACKLOG, async () => {
    await send(counting, SUBMIT, BACKLOG);
    await worker.drain(BACKLOG);
  });
}

function send(
  { bench, edgerun }: Counting,
  request: RequestKind,
  count: number,
  ids?: readonly string[],
): Promise<LoadResult> {
  return bench.driver.ask("load", {
    api: edgerun.api,
    request,
    clients: 1,
    maxRequests: count,
    maxMs: Number.POSITIVE_INFINITY,
    isCollecting: true,
    ...(ids && { ids }),
  });
}

async function countRows(
  { bench, edge, variant }: Counting,
  operation: string,
  times: number,
  work: () => Promise<unknown>,
): Promise<void> {
  const before = await readMeters(edge);
  await work();
  const { rowsRead, rowsWritten } = usageBetween(before, await readMeters(edge));
  const condition = { scenario: `rows of ${operation}`, variant };
  note(bench, "edgerun", condition, "read", "rows", rowsRead / times);
  note(bench, "edgerun", condition, "written", "rows", rowsWritten / times);
}

/** After a start the object learns in its alarms, batch by batch, when its rows are due. */
async function untilQuiet(edge: Edge): Promise<void> {
  for (let before = -1; ; await delay(QUIET_MS)) {
    const read = Object.values((await readMeters(edge)).endpoint.rows).reduce(
      (sum, rows) => sum + rows.read,
      0,
    );
    if (read === before) return;
    before = read;
  }
}
