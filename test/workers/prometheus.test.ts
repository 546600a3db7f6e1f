/** `GET /metrics`: what Prometheus reads of an account, and nothing of another. */
import { exports } from "cloudflare:workers";
import { afterEach, beforeEach, test, vi } from "vitest";
import { parseExposition, type ParsedFamily } from "../support/exposition-parser.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { passTime } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

async function scrape(): Promise<{ text: string; families: ReadonlyMap<string, ParsedFamily> }> {
  const response = await exports.default.fetch("http://edge/metrics", {
    headers: { Authorization: `Bearer ${api.key}` },
  });
  if (response.status !== 200) throw new Error(await response.text());
  const text = await response.text();
  return { text, families: parseExposition(text) };
}

function valueOf(families: ReadonlyMap<string, ParsedFamily>, name: string, labels: Record<string, string>) {
  const samples = [...families.values()].flatMap((family) => family.samples);
  return samples.find(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )?.value;
}

async function workingEndpoint() {
  const endpoint = await createEndpoint("workersMin: 1, workersMax: 2, idleTimeout: 3600");
  const agent = await ScriptedAgent.join(api, "host");
  const workerId = await agent.bringUpWorker(endpoint);
  for (let count = 0; count < 3; count += 1) {
    await call("POST", `/v2/${endpoint}/run`, { input: 1 });
    passTime(100);
    const job = await agent.take(endpoint, workerId);
    passTime(2_000);
    await agent.complete(endpoint, job, 1);
  }
  return { endpoint, agent, workerId };
}

test("a scrape reports hosts, workers and jobs in the format of Prometheus", async ({ expect }) => {
  const { endpoint, agent, workerId } = await workingEndpoint();
  const gpu = {
    index: 3,
    utilizationPercent: 50,
    memoryUsedMb: 1,
    memoryTotalMb: null,
    temperatureC: 40,
    powerW: 0,
  };
  const telemetry = {
    ago: 0,
    cpuPercent: 25,
    memoryUsedMb: 2,
    memoryTotalMb: 4,
    diskUsedMb: null,
    diskTotalMb: null,
    networkReceivedBytesPerS: null,
    networkSentBytesPerS: null,
    gpus: [gpu],
  };
  await agent.sync({ telemetry, workers: [{ workerId, endpointId: endpoint, revision: 1, state: "ready" }] });
  await call("POST", `/v2/${endpoint}/run`, { input: 1 });

  const { families } = await scrape();
  const value = (name: string, labels: Record<string, string> = {}) => valueOf(families, name, labels);
  const host = agent.hostId;
  expect(value("edgerun_host_up", { host })).toBe(1);
  expect(value("edgerun_host_cpu_ratio", { host })).toBe(0.25);
  expect(value("edgerun_host_memory_used_bytes", { host })).toBe(2 * 1024 * 1024);
  expect(value("edgerun_host_disk_bytes", { host })).toBeUndefined();
  expect(value("edgerun_gpu_utilization_ratio", { host, gpu: "3" })).toBe(0.5);
  expect(value("edgerun_gpu_power_watts", { host, gpu: "3" })).toBe(0);
  expect(value("edgerun_gpu_memory_bytes", { host, gpu: "3" })).toBeUndefined();
  expect(value("edgerun_endpoint_workers", { endpoint, state: "ready" })).toBe(1);
  expect(value("edgerun_endpoint_jobs", { endpoint, state: "queued" })).toBe(1);
  expect(value("edgerun_endpoint_requests_total", { endpoint })).toBe(4);
  expect(value("edgerun_endpoint_jobs_ended_total", { endpoint, state: "completed" })).toBe(3);
  expect(value("edgerun_job_execution_seconds_sum", { endpoint })).toBe(6);
  expect(value("edgerun_job_execution_seconds_bucket", { endpoint, le: "1.024" })).toBe(0);
  expect(value("edgerun_job_execution_seconds_bucket", { endpoint, le: "2.048" })).toBe(3);
  expect(value("edgerun_job_delay_seconds_bucket", { endpoint, le: "0.128" })).toBe(3);
});

test("a scrape has nothing of other accounts, and wants a key that may read", async ({ expect }) => {
  const { endpoint, agent } = await workingEndpoint();
  await signInAsNewAccount();
  const { text } = await scrape();
  expect(text).not.toContain(endpoint);
  expect(text).not.toContain(agent.hostId);
  expect((await exports.default.fetch("http://edge/metrics")).status).toBe(401);
});

test("endpoints without workers are not queried, and a second scrape is answered from the cache", async ({
  expect,
}) => {
  const { endpoint } = await workingEndpoint();
  const idle = await createEndpoint();
  const first = await scrape();
  expect(first.text).not.toContain(idle);
  await call("POST", `/v2/${endpoint}/run`, { input: 1 });
  expect((await scrape()).text).toBe(first.text);
  passTime(11_000);
  const third = await scrape();
  expect(valueOf(third.families, "edgerun_endpoint_requests_total", { endpoint })).toBe(4);
});
