/**
 * Two ways to bring a client's request from the edge to an agent, as small complete prototypes, beside the worker
 * itself: `node bench/lb-transport/main.ts [rounds]`. What came out is in docs/decisions/0027-load-balanced-requests-share-one-websocket.md.
 */
import { setTimeout as delay } from "node:timers/promises";
import { compare, type Way } from "../http-load/comparison.ts";
import type { HttpDriverCommands } from "../http-load/driver-process.ts";
import { ServerProcess } from "../lb/server-process.ts";
import { Child } from "../process/child.ts";
import { cpuTimes } from "../process/cpu-time.ts";
import { peakMb, residentMb } from "../process/memory.ts";
import { priceOf } from "../scenarios/price.ts";
import type { TransportAgentCommands } from "./agent/agent-process.ts";
import { TransportEdge } from "./transport-edge.ts";

const ROUNDS = Number(process.argv[2] ?? 7);
const SETTINGS = { rounds: ROUNDS, loadMs: 1_500, transferBytes: 30_000_000, events: 50, eventGapMs: 20 };
const SLOW_CLIENTS = 200;
const SLOW_MS = 10_000;
const LONE_REQUESTS = 20;
const LONE_GAP_MS = 200;
const MILLION = 1_000_000;
const TRANSPORTS = ["polled", "linked"] as const;

await using stack = new AsyncDisposableStack();
const server = stack.use(await ServerProcess.start());
const driver = stack.use(
  await Child.start<HttpDriverCommands>(new URL("../http-load/driver-process.ts", import.meta.url), null),
);
const baseline: Way = {
  name: "direct",
  target: { origin: `http://127.0.0.1:${server.port}`, prefix: "", headers: {} },
};

type Contestant = Way & { readonly edge: TransportEdge; readonly agentPid: number };

async function start(transport: (typeof TRANSPORTS)[number]): Promise<Contestant> {
  const edge = stack.use(await TransportEdge.start());
  const settings = { transport, edge: edge.origin, workerPort: server.port };
  const agent = stack.use(
    await Child.start<TransportAgentCommands>(new URL("agent/agent-process.ts", import.meta.url), settings),
  );
  await delay(1_000); // its polls, or its link
  const target = { origin: edge.origin, prefix: `/${transport}`, headers: {} };
  return { name: transport, target, edge, agentPid: agent.pid };
}

/** What `act` used, for each of `count` requests. */
async function countUsage({ name, edge, agentPid }: Contestant, what: string, count: () => Promise<number>) {
  const roles = { edge: [edge.pid], agent: [agentPid] };
  const [before, cpuBefore] = [await edge.usage(), cpuTimes(roles)];
  const requests = await count();
  const [after, cpuAfter] = [await edge.usage(), cpuTimes(roles)];
  const each = (key: keyof typeof after) => (after[key] - before[key]) / requests;
  const usage = {
    workerRequests: each("workerRequests"),
    objectRequests: each("objectRequests"),
    objectSeconds: each("objectSeconds"),
    rowsRead: 0,
    rowsWritten: 0,
  };
  const cpu = (role: "edge" | "agent") => ((cpuAfter[role] ?? 0) - (cpuBefore[role] ?? 0)) / requests;
  const cells = [
    what,
    name,
    usage.workerRequests.toFixed(2),
    usage.objectRequests.toFixed(2),
    each("incomingMessages").toFixed(2),
    `${(usage.objectSeconds * 1_000).toFixed(1)} ms`,
    `$${priceOf(usage, MILLION).toFixed(2)}`,
    `${cpu("edge").toFixed(2)} ms`,
    `${cpu("agent").toFixed(2)} ms`,
  ];
  console.log(`| ${cells.join(" | ")} |`);
}

async function countAll(contestant: Contestant): Promise<void> {
  const { target } = contestant;
  await countUsage(contestant, "small GET, one each 0.2 s", async () => {
    for (let sent = 0; sent < LONE_REQUESTS; sent += 1) {
      await driver.ask("small", { target, clients: 1, maxMs: 1, bodyBytes: 0 });
      await delay(LONE_GAP_MS);
    }
    return LONE_REQUESTS;
  });
  await countUsage(contestant, "small GET, 64 clients", async () => {
    const result = await driver.ask("small", { target, clients: 64, maxMs: 4_000, bodyBytes: 0 });
    return result.latenciesMs.length;
  });
  for (const direction of ["download", "upload"] as const) {
    await countUsage(contestant, `30 MB ${direction}`, async () => {
      for (let sent = 0; sent < 5; sent += 1) {
        await driver.ask("transfer", { target, direction, bytes: SETTINGS.transferBytes, clients: 1 });
      }
      return 5;
    });
  }
}

async function memory({ name, target, edge, agentPid }: Contestant): Promise<void> {
  const before = [residentMb(edge.pid), residentMb(agentPid)];
  const endAt = performance.now() + SLOW_MS;
  const peaks = peakMb([edge.pid, agentPid], () => performance.now() > endAt);
  const order = { target, clients: SLOW_CLIENTS, bytes: SETTINGS.transferBytes };
  const begun = await driver.ask("startSlowDownloads", order);
  const [edgeMb = 0, agentMb = 0] = await peaks;
  await driver.ask("endSlowDownloads", null);
  const cells = [name, begun, before[0], edgeMb, before[1], agentMb];
  console.log(`| ${cells.map((each) => (typeof each === "number" ? each.toFixed(0) : each)).join(" | ")} |`);
}

const contestants = [await start("polled"), await start("linked")];
console.log(`${new Date().toISOString()}, ${ROUNDS} rounds\n`);
console.log(await compare(driver, [baseline, ...contestants], SETTINGS));
console.log(
  "\n| | | Worker requests | object requests | incoming messages | awake | $ a million | CPU edge | CPU agent |",
);
console.log("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
for (const contestant of contestants) await countAll(contestant);
console.log(`\nMemory in MB while ${SLOW_CLIENTS} downloads of 30 MB are read slowly:\n`);
console.log("| | begun | edge before | edge at most | agent before | agent at most |");
console.log("| --- | ---: | ---: | ---: | ---: | ---: |");
for (const contestant of contestants) await memory(contestant);
