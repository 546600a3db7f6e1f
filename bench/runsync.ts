/**
 * Latency of `runsync` of a no-op on a warm worker at one client, and jobs per second with more clients.
 * Starts an Edgerun of its own, with the hello worker as a plain process, unless it is given a running one.
 */
import { Agent, request } from "node:http";
import { cpus } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { Command } from "commander";
import { RATE_LIMITS, RATE_WINDOW_MS } from "../src/contract/rate-limits.ts";
import { startEdgerun } from "../test/support/edgerun.ts";

const { baseUrl, apiKey, endpoint, jobs } = new Command("npm run bench --")
  .description("Measures runsync of a no-op: p50 and p99 at one client, jobs per second at 16 and 64.")
  .option("--base-url <url>", "a running Edgerun, such as http://127.0.0.1:8787")
  .option("--api-key <key>", "its API key")
  .option("--endpoint <id>", "an endpoint with the hello worker")
  .option(
    "--jobs <count>",
    `jobs per measurement; more than ${RATE_LIMITS.runsync.requests} may be refused`,
    "2000",
  )
  .parse()
  .opts<{ baseUrl?: string; apiKey?: string; endpoint?: string; jobs: string }>();

type Target = { readonly baseUrl: string; readonly apiKey: string; readonly endpointId: string };

const WARM_UP_JOBS = 200;
const BODY = JSON.stringify({ input: { name: "bench" } });
const sockets = new Agent({ keepAlive: true, maxSockets: 256 });

if (baseUrl && apiKey && endpoint) {
  await measureAll({ baseUrl, apiKey, endpointId: endpoint });
} else {
  await using edgerun = await startEdgerun({ runtime: "process" });
  await measureAll(edgerun);
}
sockets.destroy();

async function measureAll(target: Target): Promise<void> {
  await measure(target, 1, WARM_UP_JOBS);
  const rows = [];
  for (const clients of [1, 16, 64]) {
    await delay(RATE_WINDOW_MS * 1.01); // each measurement has the limit of runsync for itself
    rows.push(await measure(target, clients, Number(jobs)));
  }
  const [cpu] = cpus();
  process.stdout.write(`${cpus().length} cores, ${cpu?.model ?? "unknown"}; one worker with one slot\n`);
  console.table(rows);
}

async function measure(target: Target, clients: number, count: number) {
  const latenciesMs: number[] = [];
  let left = count;
  const startedAt = performance.now();
  const runClient = async () => {
    while (left > 0) {
      left -= 1;
      const sentAt = performance.now();
      await runsync(target);
      latenciesMs.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: clients }, runClient));
  const seconds = (performance.now() - startedAt) / 1_000;
  const sorted = latenciesMs.toSorted((a, b) => a - b);
  const at = (share: number) =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
  return {
    clients,
    jobs: count,
    jobsPerSecond: Math.round(count / seconds),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
  };
}

function runsync({ baseUrl, apiKey, endpointId }: Target): Promise<void> {
  const headers = {
    Authorization: `Bearer ${apiKey}`,
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(BODY),
  };
  return new Promise((resolve, reject) => {
    const address = new URL(`/v2/${endpointId}/runsync`, baseUrl);
    const sent = request(address, { method: "POST", agent: sockets, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const reply = JSON.parse(Buffer.concat(chunks).toString()) as { status?: string };
        if (reply.status === "COMPLETED") resolve();
        else reject(new Error(JSON.stringify(reply)));
      });
    });
    sent.on("error", reject);
    sent.end(BODY);
  });
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}
