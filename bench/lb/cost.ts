/** What load-balanced requests cost, counted at the real script and objects: `node bench/lb/cost.ts`. */
import { setTimeout as delay } from "node:timers/promises";
import type { HttpDriverCommands } from "../http-load/driver-process.ts";
import { callsBetween, readMeters, startMeteredEdge, usageBetween } from "../metered-edge/metered-edge.ts";
import { Child } from "../process/child.ts";
import { priceOf, type Usage } from "../scenarios/price.ts";
import { startBalancedEndpoint } from "./balanced-endpoint.ts";

const MILLION = 1_000_000;
const SECONDS_A_MONTH = 2_592_000;
const MINUTE_MS = 60_000;
/** What a start leaves to do has been done. */
const REST_MS = 20_000;

await using stack = new AsyncDisposableStack();
const edge = stack.use(await startMeteredEdge());
const { balanced } = await startBalancedEndpoint(edge, stack);
const { target } = balanced;
const driver = stack.use(
  await Child.start<HttpDriverCommands>(new URL("../http-load/driver-process.ts", import.meta.url), null),
);

type Case = { readonly name: string; readonly requests: number; readonly act: () => Promise<unknown> };

const steady = (name: string, count: number, everyMs: number, waitMs: number): Case => ({
  name,
  requests: count,
  act: () => driver.ask("steady", { target, count, everyMs, waitMs }),
});

const CASES: readonly Case[] = [
  steady("a request each minute", 4, MINUTE_MS, 0),
  steady("a request of 0.1 s each second", 60, 1_000, 100),
  steady("50 requests of 0.1 s each second", 1_500, 20, 100),
];

type Counted = {
  readonly usage: Usage;
  readonly calls: Readonly<Record<string, number>>;
  readonly seconds: number;
};

async function counted(act: () => Promise<unknown>): Promise<Counted> {
  const [before, startedAt] = [await readMeters(edge), performance.now()];
  await act();
  const after = await readMeters(edge);
  const seconds = (performance.now() - startedAt) / 1_000;
  return { usage: usageBetween(before, after), calls: callsBetween(before, after), seconds };
}

function scaled(usage: Usage, factor: number): Usage {
  const { workerRequests, objectRequests, objectSeconds, rowsRead, rowsWritten } = usage;
  return {
    workerRequests: workerRequests * factor,
    objectRequests: objectRequests * factor,
    objectSeconds: objectSeconds * factor,
    rowsRead: rowsRead * factor,
    rowsWritten: rowsWritten * factor,
  };
}

function minus(usage: Usage, other: Usage): Usage {
  return {
    workerRequests: usage.workerRequests - other.workerRequests,
    objectRequests: usage.objectRequests - other.objectRequests,
    objectSeconds: usage.objectSeconds - other.objectSeconds,
    rowsRead: usage.rowsRead - other.rowsRead,
    rowsWritten: usage.rowsWritten - other.rowsWritten,
  };
}

function row(name: string, usage: Usage, count: number, calls: Readonly<Record<string, number>>): void {
  const { workerRequests, objectRequests, objectSeconds, rowsWritten } = usage;
  const figures = [workerRequests, objectRequests, objectSeconds, rowsWritten].map((each) =>
    each.toPrecision(3),
  );
  console.log(`| ${[name, ...figures, `$${priceOf(usage, count).toFixed(2)}`].join(" | ")} |`);
  console.log(`<!-- ${JSON.stringify(calls)} -->`);
}

console.log("| | Worker requests | object requests | seconds awake | rows written | a million |");
console.log("| --- | ---: | ---: | ---: | ---: | ---: |");
await delay(REST_MS);
const idle = await counted(() => delay(3 * MINUTE_MS));
const idleSecond = scaled(idle.usage, 1 / idle.seconds);
row("idle, one worker: a month, $ a month", scaled(idleSecond, SECONDS_A_MONTH), 1, idle.calls);
for (const { name, requests, act } of CASES) {
  const { usage, calls, seconds } = await counted(act);
  row(`${name}, all there is`, scaled(usage, 1 / requests), MILLION, calls);
  row(
    `${name}, without what idles anyway`,
    scaled(minus(usage, scaled(idleSecond, seconds)), 1 / requests),
    MILLION,
    {},
  );
}
const forMs = 3 * MINUTE_MS;
const socket = await counted(() => driver.ask("idleWebSocket", { target, forMs }));
const ofSocket = minus(socket.usage, scaled(idleSecond, socket.seconds));
row(
  "an idle WebSocket: an hour, $ a million hours",
  scaled(ofSocket, 3_600 / socket.seconds),
  MILLION,
  socket.calls,
);
