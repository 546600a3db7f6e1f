/** Rows that operations read and write with few and with many jobs queued, counted on an edge with meters. */
import { setTimeout as delay } from "node:timers/promises";
import type { Edge } from "../contestants/edge.ts";
import { edgerunOn } from "../contestants/edgerun.ts";
import { JOB_BODY } from "../contestants/handler.ts";
import type { RequestKind } from "../load/order.ts";
import { readMeters, startMeteredEdge, usageBetween } from "../metered-edge/metered-edge.ts";
import { type Bench, note, type Scenario } from "./bench.ts";

const DEPTHS = [1_000, 100_000, 995_000] as const;
const QUICK_DEPTHS: readonly number[] = [1_000];
const CALLS = 100;
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
      const variant = `${queued.toLocaleString("en")} queued`;
      const count = (operation: string, work: () => Promise<unknown>) =>
        countRows(bench, edge, { scenario: `rows of ${operation}`, variant }, work);
      const send = (request: RequestKind, ids?: readonly string[]) =>
        bench.driver.ask("load", {
          api: edgerun.api,
          request,
          clients: 1,
          maxRequests: CALLS,
          maxMs: Number.POSITIVE_INFINITY,
          isCollecting: true,
          ...(ids && { ids }),
        });
      let ids: readonly string[] = [];
      await count(
        "run",
        async () => ({ ids } = await send({ method: "POST", path: "/run", body: JOB_BODY })),
      );
      await count("status", () => send({ method: "GET", path: "/status/$ID" }, ids));
      await count("cancel", () => send({ method: "POST", path: "/cancel/$ID" }, ids));
      await count("health", () => send({ method: "GET", path: "/health" }));
      await count("claim and finish, one job at a time", () => edgerun.worker.claim(CALLS));
    }
  },
};

async function countRows(
  bench: Bench,
  edge: Edge,
  condition: { scenario: string; variant: string },
  work: () => Promise<unknown>,
): Promise<void> {
  const before = await readMeters(edge);
  await work();
  const { rowsRead, rowsWritten } = usageBetween(before, await readMeters(edge));
  note(bench, "edgerun", condition, "read", "rows", rowsRead / CALLS);
  note(bench, "edgerun", condition, "written", "rows", rowsWritten / CALLS);
}

/** After a start the object learns in its alarms, batch by batch, when its rows are due. */
async function untilQuiet(edge: Edge): Promise<void> {
  for (let before = -1; ; await delay(QUIET_MS)) {
    const { rowsRead } = (await readMeters(edge)).endpoint;
    if (rowsRead === before) return;
    before = rowsRead;
  }
}
