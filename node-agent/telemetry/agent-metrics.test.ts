import { test } from "vitest";
import type { WorkerReport } from "../../src/contract/agent/agent.ts";
import { statusLines } from "../commands/status.ts";
import { AgentMetrics } from "./agent-metrics.ts";

const report: WorkerReport = { workerId: "w", endpointId: "e", revision: 1, state: "stopping" };
const FROZEN: WorkerReport = { ...report, isStandby: true };

test("a worker on standby is counted as one, not as stopping", async ({ expect }) => {
  const metrics = new AgentMetrics({
    reports: () => [FROZEN, FROZEN, report],
    telemetry: () => undefined,
    isEdgeReachable: () => true,
    journal: () => ({ attempts: 0, reports: 0 }),
  });
  const { text } = await metrics.expose();
  expect(text).toContain('edgerun_agent_workers{state="standby"} 2\n');
  expect(text).toContain('edgerun_agent_workers{state="stopping"} 1\n');
});

test("a worker on standby is shown as one to the status command", ({ expect }) => {
  const about = { version: "1.0.0", pid: 1, edgeUrl: "http://edge", hostId: "h", name: "host", startedAt: 0 };
  const rest = { runtime: "docker", lastContactAt: null, notice: null, workerPort: 1, jobs: 0 } as const;
  const lines = statusLines({ ...about, ...rest, workers: [FROZEN, report] }, 0);
  expect(lines).toContain("  w  e  standby");
  expect(lines).toContain("  w  e  stopping");
});
