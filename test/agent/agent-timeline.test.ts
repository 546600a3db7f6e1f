/** What the agent tells of times: ages, so that its host's clock does not matter. */
import { describe, test } from "vitest";
import { AgentFixture, assignment } from "../support/agent-fixture.ts";
import { Gate } from "../support/gate.ts";

describe("ages", () => {
  test("of a worker's start are sent with its reports, in order", async ({ expect }) => {
    await using host = await AgentFixture.start();
    await host.readyWorker();
    const ago = await host.edge.until(
      () => host.edge.syncs.at(-1)?.workers.find(({ state }) => state === "ready")?.ago,
    );
    expect(Object.keys(ago)).toEqual([
      "assigned",
      "containerStarting",
      "containerStarted",
      "runtimeStarted",
      "ready",
    ]);
    expect(Object.values(ago)).toEqual(Object.values(ago).toSorted((a = 0, b = 0) => b - a));
  });

  test("of a pull begin with its first attempt, even when it was retried", async ({ expect }) => {
    await using host = await AgentFixture.create();
    host.pullDetails.push("1 of 2 layers");
    host.prepareOutcomes.push({ kind: "failed", detail: "no route" });
    host.edge.assign(assignment());
    await host.startAgent();
    const ago = await host.edge.until(
      () => host.edge.syncs.at(-1)?.workers.find(({ state }) => state === "ready")?.ago,
    );
    const { pullStarted = 0, pullEnded = 0, containerStarted = 0 } = ago;
    expect(pullEnded).toBeGreaterThanOrEqual(containerStarted);
    expect(pullStarted - pullEnded).toBeGreaterThanOrEqual(40); // the pause before the second try
  });

  test("of a handler are sent while it runs, and again with its report", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    const gate = new Gate(host.stateDir);
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_until: gate.file, mock_return: 1 } });
    const agesTold = () =>
      host.edge.exchanges.flatMap(({ request }) =>
        request.held.flatMap((held) => (held.jobId === "job-1" && held.ago ? [held.ago] : [])),
      );
    const running = await host.edge.until(() => agesTold()[0]);
    expect(running).toEqual({ handlerStarted: expect.any(Number) });
    const seenAt = performance.now();
    const onAnotherGpu = { workerId: "worker-2", endpointId: "endpoint-2", gpuIndexes: [1] };
    await host.readyWorker(onAnotherGpu); // takes a while
    const ranMs = performance.now() - seenAt;
    gate.open();

    await host.edge.report("job-1");
    const last = agesTold().at(-1);
    expect(last).toEqual({ handlerStarted: expect.any(Number), handlerFinished: expect.any(Number) });
    const reportedMs = (last?.handlerStarted ?? 0) - (last?.handlerFinished ?? 0);
    expect(reportedMs).toBeGreaterThanOrEqual(ranMs - 1); // both ages are rounded
  });
});
