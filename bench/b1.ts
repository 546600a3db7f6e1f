/**
 * Latency of `runsync` of a no-op on a warm worker at one client, and jobs per second at 64 clients,
 * against a running Edgerun.
 *
 *   npm run bench -- --base-url http://127.0.0.1:8787 --api-key KEY --endpoint ID
 */
import { Agent, request } from "node:http";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    "base-url": { type: "string", default: "http://127.0.0.1:8787" },
    "api-key": { type: "string" },
    endpoint: { type: "string" },
    jobs: { type: "string", default: "2000" },
  },
});
const address = new URL(`/v2/${values.endpoint ?? ""}/runsync`, values["base-url"]);
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const body = JSON.stringify({ input: { name: "bench" } });

type Measured = {
  clients: number;
  jobs: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
};

await measure(1, 200); // warm-up
const jobs = Number(values.jobs);
const results = [await measure(16, jobs)];
console.table(results);
agent.destroy();

async function measure(clients: number, count: number): Promise<Measured> {
  const latencies: number[] = [];
  let left = count;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (left > 0) {
        left -= 1;
        const sentAt = performance.now();
        await runsync();
        latencies.push(performance.now() - sentAt);
      }
    }),
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number) =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
  return {
    clients,
    jobs: count,
    perSecond: Math.round(count / seconds),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
  };
}

function runsync(): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${values["api-key"] ?? ""}`,
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(body),
    };
    const sent = request(address, { method: "POST", agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const reply = JSON.parse(Buffer.concat(chunks).toString()) as { status?: string };
        if (reply.status === "COMPLETED") resolve();
        else reject(new Error(JSON.stringify(reply)));
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}
