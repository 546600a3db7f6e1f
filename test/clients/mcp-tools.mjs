/**
 * The npm package @runpod/mcp-server, unmodified, over its standard input and output, against a whole Edgerun.
 *
 *   node test/clients/mcp-tools.mjs --server STDIO_MJS --base-url http://127.0.0.1:8787 --api-key KEY --endpoint ID
 *
 * Prints a line per check; exits with 1 at the first difference.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

const text = { type: "string" };
const { values } = parseArgs({
  options: { server: text, "base-url": text, "api-key": text, endpoint: text },
});
const { server, "api-key": apiKey, endpoint: endpointId } = values;
const baseUrl = String(values["base-url"]);
const program = spawn(process.execPath, [server], {
  stdio: ["pipe", "pipe", "ignore"],
  env: {
    ...process.env,
    RUNPOD_API_KEY: apiKey,
    RUNPOD_API_BASE_URL: baseUrl,
    RUNPOD_SERVERLESS_API_URL: `${baseUrl}/v2`,
    RUNPOD_PUBLIC_GRAPHQL_URL: `${baseUrl}/graphql`,
    RUNPOD_AUTHED_GRAPHQL_URL: `${baseUrl}/graphql`,
  },
});
const lines = createInterface({ input: program.stdout })[Symbol.asyncIterator]();
let lastId = 0;

function send(message) {
  program.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

async function request(method, params) {
  const id = ++lastId;
  send({ id, method, params });
  for (;;) {
    const { value, done } = await lines.next();
    assert(!done, `the server ended before it answered ${method}`);
    const message = JSON.parse(value);
    if (message.id === id) return message;
  }
}

/** What a tool answers; fails if the tool does, or, for what is refused, if it does not. */
async function use(name, args = {}, { isRefused = false } = {}) {
  const { error, result } = await request("tools/call", { name, arguments: args });
  const said = error?.message ?? result.content.map((part) => part.text).join("\n");
  assert.equal(Boolean(error ?? result.isError), isRefused, `${name}: ${said}`);
  process.stdout.write(`ok         ${name}\n`);
  return isRefused ? said : JSON.parse(said);
}

/** Makes, reads, changes and deletes an item with the tools named after its noun. */
async function manage(noun, body, change) {
  const { id } = await use(`create-${noun}`, { body });
  assert.equal((await use(`get-${noun}`, { id })).id, id);
  if (change) await use(`update-${noun}`, { id, body: change });
  await use(`delete-${noun}`, { id });
  await use(`get-${noun}`, { id }, { isRefused: true });
}

await request("initialize", {
  protocolVersion: "2024-11-05",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
});
send({ method: "notifications/initialized" });

for (const nouns of [
  "gpu-types",
  "cpu-types",
  "data-centers",
  "public-templates",
  "hub-repos",
  "pods",
  "endpoints",
])
  await use(`list-${nouns}`);
await use("get-capacity");
await use("list-serverless-billing", { lastN: 3 });
await manage(
  "template",
  { name: "of-mcp", image: "acme/worker:1", serverless: true },
  { image: "acme/worker:2" },
);
await manage("network-volume", { name: "of-mcp", size: 20, dataCenter: "EU-RO-1" }, { size: 30 });
await manage("registry", { name: "of-mcp", username: "me", password: "p4ss-word" });
const gpu = { pools: ["ADA_24"], count: 1 };
const scaling = { type: "QUEUE_DELAY", queueDelay: 4 };
const workers = { min: 0, max: 1 };
await manage(
  "endpoint",
  { name: "of-mcp", image: "acme/worker:1", type: "QUEUE", gpu, workers, scaling },
  { workers: { max: 2 } },
);

const input = { name: "Ada" };
const done = await use("runsync-endpoint", { endpointId, input, wait: 60_000 });
assert.equal(done.status ?? done.job?.status, "COMPLETED");
const { id: jobId } = await use("run-endpoint", { endpointId, input });
await use("get-job-status", { endpointId, jobId });
await use("endpoint-health", { endpointId });
await use("list-endpoint-workers", { id: endpointId });
const logs = { endpointId, workerId: "nobody", maxWaitMs: 1_000 };
await use("stream-worker-logs", logs, { isRefused: true });
const nowhere = { name: "pod", image: "acme/pod:1", gpu: { id: "NVIDIA B200", count: 64 } };
assert.match(
  await use("create-pod", { body: nowhere }, { isRefused: true }),
  /no longer any instances available/,
);
process.stdout.write("ok         all was called\n");
program.kill();
