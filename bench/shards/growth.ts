/**
 * What a job costs as an endpoint grows to more objects, on one runtime: `node bench/shards/growth.ts [seconds] [clients]`.
 * Clients submit jobs, which nobody takes; the load lets the endpoint grow. The runtime of one machine has one thread
 * for all objects, so that it shows what sharing costs, and not what it gains: see model.ts.
 */
import { loadavg } from "node:os";
import { shardOfJob } from "../../src/contract/job.ts";
import { edgerunOn } from "../contestants/edgerun.ts";
import { Edge } from "../contestants/edge.ts";
import { JOB_BODY } from "../contestants/handler.ts";
import type { DriverCommands } from "../load/driver-process.ts";
import { median } from "../load/percentiles.ts";
import { Child } from "../process/child.ts";
import { cpuPerJob, cpuTimes } from "../process/cpu-time.ts";

const SECONDS = Number(process.argv[2] ?? 90);
const CLIENTS = Number(process.argv[3] ?? 64);
const SLICE_MS = 2_000;

type Slice = {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpuUs: number;
};

await using stack = new AsyncDisposableStack();
const edge = stack.use(await Edge.start());
const edgerun = stack.use(await edgerunOn(edge, { knowsShards: true }));
await edgerun.worker.pause();
const driver = stack.use(
  await Child.start<DriverCommands>(new URL("../load/driver-process.ts", import.meta.url), null),
);
const roles = { edge: edge.pids };

/** By how many objects took the jobs of the slice. */
const slices = new Map<number, Slice[]>();
for (const endsAt = performance.now() + SECONDS * 1_000; performance.now() < endsAt;) {
  const before = cpuTimes(roles);
  const { count, perSecond, latency, ids, firstFailure } = await driver.ask("load", {
    api: edgerun.api,
    request: { method: "POST", path: "/run", body: JOB_BODY },
    clients: CLIENTS,
    maxMs: SLICE_MS,
    maxRequests: Number.MAX_SAFE_INTEGER,
    isCollecting: true,
  });
  if (firstFailure !== null) throw new Error(firstFailure);
  const { edge: cpuUs = 0 } = cpuPerJob(before, cpuTimes(roles), count);
  const shards = new Set(ids.map(shardOfJob)).size;
  const known = slices.get(shards) ?? [];
  slices.set(shards, [...known, { perSecond, p50: latency.p50, p99: latency.p99, cpuUs }]);
}

console.log(
  `${CLIENTS} clients, slices of ${SLICE_MS / 1_000} s; load of the machine ${loadavg()[0]?.toFixed(1)}\n`,
);
console.log("| objects | slices | jobs/s | p50 ms | p99 ms | processor µs of the edge per job |");
console.log("| ---: | ---: | ---: | ---: | ---: | ---: |");
for (const [shards, all] of [...slices].toSorted(([a], [b]) => a - b)) {
  const of = (key: keyof Slice) => median(all.map((one) => one[key]));
  const cells = [
    of("perSecond").toFixed(0),
    of("p50").toFixed(1),
    of("p99").toFixed(1),
    of("cpuUs").toFixed(0),
  ];
  console.log(`| ${shards} | ${all.length} | ${cells.join(" | ")} |`);
}
