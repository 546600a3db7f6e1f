/**
 * What requests of the queue API cost beside the least that the platform takes for them, in turns:
 * `node bench/request-path/main.ts [rounds] [loads,profile]`. No worker takes the jobs that are submitted.
 */
import { loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { join } from "node:path";
import getPort from "get-port";
import { RATE_WINDOW_MS } from "../../src/contract/rate-limits.ts";
import { openFront } from "../../standalone/front.ts";
import { BareEdge } from "../bare-edge/bare-edge.ts";
import { edgerunOn } from "../contestants/edgerun.ts";
import { Edge, withInspector } from "../contestants/edge.ts";
import { JOB_BODY } from "../contestants/handler.ts";
import type { DriverCommands } from "../load/driver-process.ts";
import type { Api, LoadOrder, LoadResult } from "../load/order.ts";
import { median } from "../load/percentiles.ts";
import { Child } from "../process/child.ts";
import { cpuPerJob, cpuTimes, type Roles } from "../process/cpu-time.ts";
import { profiled } from "../process/inspector.ts";

const ROUNDS = Number(process.argv[2] ?? 5);
const PARTS = (process.argv[3] ?? "loads,profile").split(",");
const LOAD_MS = 1_500;
const PROFILE_MS = 4_000;
const FUNCTIONS_SHOWN = 45;
/** Two loads within ten seconds are below the limit of reads of `health`. */
const HEALTH_REQUESTS = 900;

type Way = {
  readonly name: string;
  readonly api: Api;
  readonly request: LoadOrder["request"];
  readonly roles: Roles;
  readonly clients: number;
  readonly maxRequests?: number;
  /** Jobs that the path names. */
  readonly ids?: readonly string[];
};

const inspectorPort = await getPort({ host: "127.0.0.1" });

await using stack = new AsyncDisposableStack();
const floor = stack.use(
  await BareEdge.start({
    path: join(import.meta.dirname, "script/index.ts"),
    objects: { FLOOR: "FloorObject" },
  }),
);
// As in front of the edge, which `npm start` runs.
const front = await openFront(0, Number(new URL(floor.origin).port));
stack.defer(() => front.close());
const edge = stack.use(await Edge.start(withInspector(inspectorPort)));
const edgerun = stack.use(await edgerunOn(edge));
await edgerun.worker.pause();
const driver = stack.use(
  await Child.start<DriverCommands>(new URL("../load/driver-process.ts", import.meta.url), null),
);

async function load({ api, request, clients, ids, maxRequests }: Way, maxMs: number): Promise<LoadResult> {
  const order = { api, request, clients, maxMs, maxRequests: maxRequests ?? Number.MAX_SAFE_INTEGER };
  const again = ids && { ids, areIdsReused: true };
  const result = await driver.ask("load", { ...order, ...again });
  if (result.firstFailure !== null) throw new Error(`${request.path}: ${result.firstFailure}`);
  return result;
}

const submit = { method: "POST", path: "/run", body: JOB_BODY } as const;
const { ids } = await driver.ask("load", {
  api: edgerun.api,
  request: submit,
  clients: 8,
  maxRequests: 400,
  maxMs: 10_000,
  isCollecting: true,
});

const bare = {
  api: { baseUrl: `http://127.0.0.1:${front.port}/v2/floor`, apiKey: edge.apiKey },
  roles: { edge: [floor.pid] },
};
const real = { api: edgerun.api, roles: { edge: edge.pids } };
const read = (path: string) => ({ method: "GET", path }) as const;
const ways: readonly Way[] = [64, 1].flatMap((clients) => [
  { ...bare, clients, name: "floor: the script answers", request: read("/bare") },
  { ...bare, clients, name: "floor: an object answers with ready text", request: read("/text") },
  { ...real, clients, name: "health", request: read("/health"), maxRequests: HEALTH_REQUESTS },
  { ...real, clients, name: "status", request: read("/status/$ID"), ids },
  {
    ...bare,
    clients,
    name: "floor: an object inserts a row",
    request: { method: "POST", path: "/row", body: JOB_BODY },
  },
  { ...real, clients, name: "run", request: submit },
]);

type Figures = {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpuUs: number;
};

async function measure(way: Way): Promise<Figures> {
  const before = cpuTimes(way.roles);
  const { count, perSecond, latency } = await load(way, LOAD_MS);
  const { edge: cpuUs = 0 } = cpuPerJob(before, cpuTimes(way.roles), count);
  return { perSecond, p50: latency.p50, p99: latency.p99, cpuUs };
}

/** Medians of the rounds; the first round warms up. */
async function loads(): Promise<void> {
  const figures = new Map<Way, Figures[]>(ways.map((way) => [way, []]));
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const way of ways) {
      const measured = await measure(way);
      if (round >= 0) figures.get(way)?.push(measured);
    }
  }
  console.log("| | clients | requests/s | p50 ms | p99 ms | processor µs of the edge |");
  console.log("| --- | ---: | ---: | ---: | ---: | ---: |");
  for (const [{ name, clients }, all] of figures) {
    const of = (key: keyof Figures) => median(all.map((one) => one[key]));
    const cells = [
      of("perSecond").toFixed(0),
      of("p50").toFixed(2),
      of("p99").toFixed(1),
      of("cpuUs").toFixed(0),
    ];
    console.log(`| ${name} | ${clients} | ${cells.join(" | ")} |`);
  }
}

async function profile(): Promise<void> {
  await delay(RATE_WINDOW_MS);
  const map = join(edge.stateDirectory, "edge-bundle/index.js.map");
  for (const way of ways.filter(({ roles, clients }) => roles === real.roles && clients > 1)) {
    const shares = await profiled(
      `ws://127.0.0.1:${inspectorPort}/core:user:edgerun`,
      () => load(way, PROFILE_MS),
      map,
    );
    console.log(
      `\n| Share of the time that the edge is at work: ${way.name}, 64 clients | |\n| --- | ---: |`,
    );
    for (const { name, where, share } of shares.slice(0, FUNCTIONS_SHOWN))
      console.log(`| ${name || "(anonymous)"} ${where} | ${(share * 100).toFixed(1)} % |`);
  }
}

console.log(
  `${new Date().toISOString()}, ${ROUNDS} rounds, load of the machine ${loadavg()[0]?.toFixed(1)}\n`,
);
const parts: Readonly<Record<string, () => Promise<void>>> = { loads, profile };
for (const part of PARTS) await parts[part]?.();
console.log(`\nload of the machine at the end ${loadavg()[0]?.toFixed(1)}`);
