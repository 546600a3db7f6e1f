import { describe, test } from "vitest";
import { AgentFixture } from "../support/agent-fixture.ts";

describe("a job", () => {
  test("travels to a worker and its result back to the edge", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();

    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_return: { text: "héllo", n: 1 } } });

    expect(await host.edge.report("job-1")).toEqual({
      kind: "completed",
      jobId: "job-1",
      attempt: 1,
      workerId: "worker-1",
      output: { text: "héllo", n: 1 },
    });
  });
});
