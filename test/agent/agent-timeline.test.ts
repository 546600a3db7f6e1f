/** What the agent tells of times: ages, so that its host's clock does not matter. */
import { describe, test } from "vitest";
import { AgentFixture, assignment } from "../support/agent-fixture.ts";

describe("ages", () => {
  test("of a worker's start come with its reports, in their order", async ({ expect }) => {
    await using host = await AgentFixture.start();
    await host.readyWorker();
    const ago = await host.edge.until(
      () => host.edge.syncs.at(-1)?.workers.find(({ state }) => state === "ready")?.ago,
    );
    expect(ago).toEqual({ containerStarted: expect.any(Number), ready: expect.any(Number) });
    expect(ago.containerStarted).toBeGreaterThanOrEqual(ago.ready ?? 0);
  });

  test("of a pull begin with its first words, though it had to be tried again", async ({ expect }) => {
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

  test("of a handler come while it runs, and once more beside its report", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_delay: 0.2, mock_return: 1 } });
    await host.edge.report("job-1");
    const ago = host.edge.exchanges.flatMap(({ request }) =>
      request.held.flatMap((held) => (held.jobId === "job-1" && held.ago ? [held.ago] : [])),
    );
    const running = ago.find(({ handlerStarted, handlerFinished }) => handlerStarted && !handlerFinished);
    expect(running).toEqual({ handlerStarted: expect.any(Number) });
    const last = ago.at(-1);
    expect(last).toEqual({ handlerStarted: expect.any(Number), handlerFinished: expect.any(Number) });
    expect((last?.handlerStarted ?? 0) - (last?.handlerFinished ?? 0)).toBeGreaterThanOrEqual(190);
  });
});
