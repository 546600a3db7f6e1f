/** FLASHBOOT on a whole Edgerun: an endpoint goes to zero, and its next job runs in the very same container. */
import Dockerode from "dockerode";
import { afterAll, beforeAll, describe, type ExpectStatic, test } from "vitest";
import { ensureHelloImage } from "../../scripts/images/node-image.ts";
import type { TimelineEvent } from "../../src/contract/job.ts";
import { managementApi } from "../../standalone/management-api.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { createEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";

const docker = new Dockerode();

const RESUMED = [
  "worker_placed",
  "container_starting",
  "container_started",
  "runtime_started",
  "worker_ready",
  "taken",
] as const;

describe.runIf(await isDockerAvailable())("an endpoint with FLASHBOOT", () => {
  let account: AccountHost;
  let endpointId: string;
  let client: QueueClient;

  beforeAll(async () => {
    account = await startAccountHost("flashboot", "docker");
    const { image: imageName } = await ensureHelloImage();
    const settings = { name: "flashboot", imageName, idleTimeout: 1, flashBootType: "FLASHBOOT" } as const;
    endpointId = await createEndpoint(account, settings);
    client = new QueueClient({ ...account, endpointId });
  });
  afterAll(() => account.stop());

  const containers = () =>
    docker.listContainers({ all: true, filters: { label: [`edgerun.endpoint=${endpointId}`] } });

  /** So many workers are to be there before any job. */
  const prepare = (workersPFBTarget: number) =>
    managementApi(account.baseUrl, account.apiKey).query(
      "mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { id } }",
      { input: { id: endpointId, workersPFBTarget } },
    );

  /** The container of the endpoint, once it is frozen. */
  async function frozen(expect: ExpectStatic): Promise<string> {
    const states = async () => (await containers()).map(({ State }) => State);
    await expect.poll(states, { timeout: 90_000, interval: 50 }).toEqual(["paused"]);
    return (await containers())[0]?.Id ?? "";
  }

  async function greet(
    name: string,
  ): Promise<{ readonly workerId: string; readonly events: readonly string[] }> {
    const { id } = await client.run({ name });
    const { status, workerId = "", output } = await client.result(id);
    const timeline = (await client.timeline(id)) as readonly TimelineEvent[];
    if (status !== "COMPLETED" || JSON.stringify(output) !== `{"greeting":"Hello, ${name}!"}`)
      throw new Error(`${name}: ${status} ${JSON.stringify(output)}`);
    return { workerId, events: timeline.map(({ event }) => event) };
  }

  test("starts and freezes a worker before any job, which then runs the first one", async ({ expect }) => {
    await prepare(1);
    const container = await frozen(expect);
    const { events } = await greet("Ada");
    expect(events).toEqual(["submitted", ...RESUMED, "handler_started", "handler_finished", "finished"]);
    await prepare(0);
    expect(await frozen(expect)).toBe(container);
  });

  test("scales to zero, and revives the container for the next job", async ({ expect }) => {
    const first = await greet("Ada");
    const container = await frozen(expect);
    expect((await client.health()).workers).toMatchObject({ idle: 0, running: 0, initializing: 0 });

    const second = await greet("Grace");
    expect(second.workerId).toBe(first.workerId);
    expect(second.events).toEqual(expect.arrayContaining(["container_started", "worker_ready", "taken"]));
    expect(await frozen(expect)).toBe(container);
  });

  test("revives the worker after its agent was killed and restarted", async ({ expect }) => {
    const { workerId } = await greet("Ada");
    const container = await frozen(expect);
    const killed = account.agentPid();
    process.kill(killed, "SIGKILL");
    await expect.poll(() => account.agentPid(), { timeout: 90_000, interval: 20 }).not.toBe(killed);
    expect((await greet("Grace")).workerId).toBe(workerId);
    expect(await frozen(expect)).toBe(container);
  });

  test("starts another container when the frozen one was removed", async ({ expect }) => {
    await greet("Ada");
    const container = await frozen(expect);
    await docker.getContainer(container).remove({ force: true });
    await greet("Grace");
    expect(await frozen(expect)).not.toBe(container);
  });
});
