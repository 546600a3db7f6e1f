/** Links of a whole agent, whose workers come and go. */
import { describe, test } from "vitest";
import { AgentFixture } from "../support/agent-fixture.ts";
import { placeOf, said, serving, servingWorker, tell } from "../support/serving-worker.ts";

describe("the link of an agent", () => {
  test("is there for workers that serve requests, before they do, and for no others", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const { link } = host.edge;
    await host.readyWorker({ workerId: "queue-1", endpointId: "queue" });
    expect(link.asked).toEqual([]);
    host.edge.assign(serving({ SERVER_HEALTH: "503" }));
    await said(host, "starting", /answers 503/);
    await link.until(() => link.said.length === 1);
    expect(link.asked).toEqual(["endpoint-1"]);
    expect(link.said).toEqual([[]]);
    await tell(placeOf(host), "/health/200");
    await link.until(() => link.said.at(-1)?.length === 1);
    expect(link.said).toEqual([[], ["worker-1"]]);
    const stream = await link.request("worker-1", { method: "POST", target: "/" }, Buffer.from("x")).over();
    expect(stream.text).toBe("done");
    expect(link.faults).toEqual([]);
  });

  test("tells at once of a worker that takes none any more, and ends with the last", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const { link } = host.edge;
    await servingWorker(host);
    await link.until(() => link.said.at(-1)?.length === 1);
    host.edge.assign();
    await link.until(() => !link.isOpen);
    expect(link.said.at(-1)).toEqual([]);
    expect((await host.edge.workerGone("worker-1")) && link.asked).toHaveLength(1);
  });

  test("is opened by the next agent for the workers that it takes over", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const { link } = host.edge;
    await servingWorker(host);
    await link.until(() => link.said.at(-1)?.length === 1);
    await host.stopAgent();
    expect(link.said.at(-1)).toEqual([]);
    await link.until(() => !link.isOpen);
    await host.startAgent();
    await link.until(() => link.isOpen && link.said.at(-1)?.length === 1);
    const stream = await link.request("worker-1", { method: "POST" }, Buffer.from("x")).over();
    expect(stream.text).toBe("done");
    expect(link.faults).toEqual([]);
  });
});
