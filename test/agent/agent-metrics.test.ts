import getPort from "get-port";
import { test } from "vitest";
import { AgentFixture } from "../support/agent-fixture.ts";
import { parseExposition } from "../support/exposition-parser.ts";

test("an agent serves metrics for Prometheus at the configured port only", async ({ expect }) => {
  await using host = await AgentFixture.create();
  host.metrics = { address: "127.0.0.1", port: await getPort() };
  await host.startAgent();
  const worker = await host.readyWorker();
  host.edge.submit(worker.endpointId, { id: "good", input: { mock_return: 1 } });
  host.edge.submit(worker.endpointId, { id: "bad", input: { mock_error: "no" } });
  await host.edge.report("good");
  await host.edge.report("bad");

  const address = `http://127.0.0.1:${host.metrics.port}`;
  const families = parseExposition(await (await fetch(`${address}/metrics`)).text());
  const samples = [...families.values()].flatMap((family) => family.samples);
  const valueOf = (name: string, label?: string) =>
    samples.find((sample) => sample.name === name && (!label || Object.values(sample.labels).includes(label)))
      ?.value;
  expect(valueOf("edgerun_agent_workers", "ready")).toBe(1);
  expect(valueOf("edgerun_agent_workers", "pulling")).toBe(0);
  expect(valueOf("edgerun_agent_jobs_total", "completed")).toBe(1);
  expect(valueOf("edgerun_agent_jobs_total", "failed")).toBe(1);
  expect(valueOf("edgerun_agent_edge_reachable")).toBe(1);
  expect(valueOf("edgerun_agent_journal_entries", "attempts")).toBe(0);
  expect(valueOf("process_resident_memory_bytes")).toBeGreaterThan(0);
  expect(families.has("edgerun_agent_image_pull_seconds")).toBe(true);
  expect((await fetch(`${address}/other`)).status).toBe(404);
});

test("a host reports its usage with its syncs, without simulated GPUs", async ({ expect }) => {
  await using host = await AgentFixture.start();
  await host.readyWorker();
  const telemetry = await host.edge.until(
    () => host.edge.syncs.findLast((sync) => sync.telemetry)?.telemetry,
  );
  expect(telemetry).toMatchObject({ gpus: [] });
  expect(telemetry.memoryTotalMb).toBeGreaterThan(0);
});
