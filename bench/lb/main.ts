/**
 * Load-balanced requests beside the container that answers them, in turns:
 * `node bench/lb/main.ts [rounds] [time,shares,memory,profile]`. The edge, the agent and the container are real; `bench/lb/cost.ts` counts what requests cost.
 */
import getPort from "get-port";
import { loadavg } from "node:os";
import { join } from "node:path";
import { Edge, withInspector } from "../contestants/edge.ts";
import { compare } from "../http-load/comparison.ts";
import type { HttpDriverCommands } from "../http-load/driver-process.ts";
import { Child } from "../process/child.ts";
import { cpuTimes } from "../process/cpu-time.ts";
import { type FunctionShare, nodeInspector, profiled } from "../process/inspector.ts";
import { peakMb, residentMb } from "../process/memory.ts";
import { startBalancedEndpoint } from "./balanced-endpoint.ts";

const ROUNDS = Number(process.argv[2] ?? 7);
const PARTS = (process.argv[3] ?? "time,shares,memory,profile").split(",");
const SETTINGS = { rounds: ROUNDS, loadMs: 1_500, transferBytes: 30_000_000, events: 50, eventGapMs: 20 };
const TRANSFERS = 64;
const LOAD = { clients: 64, maxMs: 4_000, bodyBytes: 0 };
const FUNCTIONS_SHOWN = 25;

const inspectorPort = await getPort({ host: "127.0.0.1" });

await using stack = new AsyncDisposableStack();
const edge = stack.use(await Edge.start(withInspector(inspectorPort)));
const { baseline, balanced, agentPid, agentInspectorPort, serverPids } = await startBalancedEndpoint(
  edge,
  stack,
);
const driver = stack.use(
  await Child.start<HttpDriverCommands>(new URL("../http-load/driver-process.ts", import.meta.url), null),
);
const roles = { edge: edge.pids, agent: [agentPid], container: serverPids, driver: [driver.pid] };

async function shares(): Promise<void> {
  console.log("\n| Processor time of a small GET at 64 clients, µs | edge | agent | container | driver |");
  console.log("| --- | ---: | ---: | ---: | ---: |");
  for (const { name, target } of [baseline, balanced]) {
    const before = cpuTimes(roles);
    const { latenciesMs } = await driver.ask("small", { ...LOAD, target });
    const after = cpuTimes(roles);
    const each = Object.keys(roles).map((role) => ((after[role] ?? 0) - (before[role] ?? 0)) * 1_000);
    console.log(`| ${name} | ${each.map((us) => (us / latenciesMs.length).toFixed(0)).join(" | ")} |`);
  }
}

async function memory(): Promise<void> {
  const pids = [...edge.pids.slice(0, 1), agentPid];
  console.log(`\n| ${TRANSFERS} times 30 MB at once | MB/s direct | MB/s edgerun | edge MB | agent MB |`);
  console.log("| --- | ---: | ---: | ---: | ---: |");
  for (const direction of ["download", "upload"] as const) {
    const order = { direction, bytes: SETTINGS.transferBytes, clients: TRANSFERS };
    const alone = await driver.ask("transfer", { ...order, target: baseline.target });
    const before = pids.map(residentMb);
    let isOver = false;
    const peaks = peakMb(pids, () => isOver);
    const through = await driver.ask("transfer", { ...order, target: balanced.target });
    isOver = true;
    const spans = (await peaks).map((peak, at) => `${before[at]?.toFixed(0)} → ${peak.toFixed(0)}`);
    console.log(`| ${direction} | ${alone.toFixed(0)} | ${through.toFixed(0)} | ${spans.join(" | ")} |`);
  }
}

async function profile(): Promise<void> {
  const load = () => driver.ask("small", { ...LOAD, target: balanced.target });
  print("agent", await profiled(await nodeInspector(agentInspectorPort), load));
  const map = join(edge.stateDirectory, "edge-bundle/index.js.map");
  print("edge", await profiled(`ws://127.0.0.1:${inspectorPort}/core:user:edgerun`, load, map));
}

function print(what: string, functions: readonly FunctionShare[]): void {
  console.log(`\n| Share of the time that the ${what} is at work, 64 clients | |\n| --- | ---: |`);
  for (const { name, where, share } of functions.slice(0, FUNCTIONS_SHOWN)) {
    console.log(`| ${name || "(anonymous)"} ${where} | ${(share * 100).toFixed(1)} % |`);
  }
}

console.log(
  `${new Date().toISOString()}, ${ROUNDS} rounds, load of the machine ${loadavg()[0]?.toFixed(1)}\n`,
);
const parts: Readonly<Record<string, () => Promise<void>>> = {
  time: async () => console.log(await compare(driver, [baseline, balanced], SETTINGS)),
  shares,
  memory,
  profile,
};
for (const part of PARTS) await parts[part]?.();
console.log(`\nload of the machine at the end ${loadavg()[0]?.toFixed(1)}`);
