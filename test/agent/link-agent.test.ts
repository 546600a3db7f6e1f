/** Links of a whole agent, whose workers come and go. */
import { describe, test } from "vitest";
import { AgentFixture, assignment } from "../support/agent-fixture.ts";
import { placeOf, said, serving, servingWorker, command } from "../support/serving-worker.ts";

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
    await command(placeOf(host), "/health/200");
    await link.until(() => link.said.at(-1)?.length === 1);
    expect(link.said).toEqual([[], ["worker-1"]]);
    const stream = await link.request("worker-1", { method: "POST", target: "/" }, Buffer.from("x")).over();
    expect(stream.text).toBe("done");
    expect(link.violations).toEqual([]);
  });

  test("reports at once that a worker stopped taking requests, and ends with the last worker", async ({
    expect,
  }) => {
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
    expect(link.violations).toEqual([]);
  });

  test("delays the end of its agent until running requests are answered, while jobs continue", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start();
    const { edge } = host;
    const queue = assignment({ workerId: "queue-1", endpointId: "queue" });
    edge.assign(queue, serving());
    await edge.worker("queue-1", "ready");
    await edge.worker("worker-1", "ready");
    await edge.link.until(() => edge.link.said.at(-1)?.length === 1);
    const held = edge.link.request("worker-1", { target: "/hold" });
    await held.answered();

    const stopped = host.stopAgent();
    await edge.link.until(() => edge.link.said.at(-1)?.length === 0);
    edge.submit("queue", { id: "job-1", input: { mock_return: 1 } });
    await edge.report("job-1");
    expect(held.isOver).toBe(false);
    await command(placeOf(host), "/release");
    expect((await held.over()).text).toBe("whole");
    await stopped;
  });
});
