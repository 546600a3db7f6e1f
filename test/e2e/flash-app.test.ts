/** The example app, deployed as it is: packages from PyPI, a class, a generator, routes, and calls between endpoints. */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { type ContainerFixture, openContainerFixture } from "../cli/support/container-fixture.ts";
import type { CommandFixture } from "../cli/support/flash-command.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import type { JobView } from "../../src/contract/job.ts";
import { QueueClient } from "../support/queue-client.ts";

const EXAMPLE = join(import.meta.dirname, "../../examples/flash-app");
const START_LIMIT_MS = 180_000;

type Endpoint = { readonly name: string; readonly id: string; readonly url: string };

describe.runIf(await isDockerAvailable())("the example app", () => {
  let opened: ContainerFixture<AccountHost>;
  let account: AccountHost;
  let fixture: CommandFixture;
  let endpoints: ReadonlyMap<string, Endpoint>;

  beforeAll(async () => {
    opened = await openContainerFixture(startAccountHost("flash app", "docker"));
    ({ fixture, place: account } = opened);
    await cp(EXAMPLE, fixture.project, { recursive: true });
    const { stdout, stderr, exitCode } = await fixture.run("flash deploy --python-version 3.11 --json");
    if (exitCode !== 0) throw new Error(stderr);
    const deployed = JSON.parse(stdout) as { endpoints: readonly Endpoint[] };
    endpoints = new Map(deployed.endpoints.map((endpoint) => [endpoint.name, endpoint]));
  }, START_LIMIT_MS);
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
  });

  const endpointNamed = (name: string): Endpoint => {
    const found = endpoints.get(name);
    if (!found) throw new Error(`${name} was not deployed.`);
    return found;
  };
  const clientOf = (name: string): QueueClient =>
    new QueueClient({ ...account, endpointId: endpointNamed(name).id });

  async function ask(name: string, input: unknown): Promise<JobView> {
    const client = clientOf(name);
    const reply = await client.runsync(input);
    return reply.status.startsWith("IN_") ? await client.result(reply.id) : reply;
  }

  async function request(method: string, path: string, body?: unknown) {
    const response = await fetch(`${endpointNamed("api").url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${account.apiKey}`, "Content-Type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as unknown };
  }

  test("call.py calls functions of three endpoints from Python", async ({ expect }) => {
    const { stdout, stderr, exitCode } = await fixture.run("python3 call.py");
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({ size: [64, 48], mean: 2.5, opinion: "praise" });
  });

  test("a package of PyPI does real work beside numpy of the image", async ({ expect }) => {
    const reply = await ask("thumbnails", { width: 300, height: 600, size: 30 });
    expect(reply).toMatchObject({ status: "COMPLETED", output: { width: 15, height: 30 } });
    const { png } = reply.output as { png: string };
    expect(Buffer.from(png, "base64").subarray(1, 4).toString()).toBe("PNG");
  });

  test("a wrong argument fails the job and names it; an exception shows the line of the user's code", async ({
    expect,
  }) => {
    const unknown = await ask("thumbnails", { width: 3, height: 6, colour: "red" });
    expect(unknown).toMatchObject({ status: "FAILED", error: expect.stringContaining("colour") });
    const raised = await ask("statistics", { values: ["no number"] });
    expect(raised.status).toBe("FAILED");
    const { error_traceback: traceback } = JSON.parse(raised.error ?? "") as { error_traceback: string };
    const [, first] = traceback.split("\n");
    expect(first).toContain('File "/app/numbers_worker.py"');
  });

  test("a generator's results can be read one by one, and all together", async ({ expect }) => {
    const client = clientOf("primes");
    const { id } = await client.run({ below: 12 });
    const ended = await client.result(id);
    expect(ended).toMatchObject({ status: "COMPLETED", output: [2, 3, 5, 7, 11] });
    expect(await client.stream(id)).toMatchObject({
      stream: [2, 3, 5, 7, 11].map((output) => ({ output })),
    });
  });

  test("a class is made once, and keeps what it knows", async ({ expect }) => {
    const before = await ask("sentiment", { method: "asked" });
    await ask("sentiment", { method: "predict", text: "a terrible day" });
    const after = await ask("sentiment", { method: "asked" });
    expect(Number(after.output) - Number(before.output)).toBe(1);
    expect(await ask("sentiment", { method: "forget" })).toMatchObject({
      status: "FAILED",
      error: expect.stringMatching(/predict.*asked|asked.*predict/s),
    });
  });

  test("routes take bodies, path parameters and wrong fields as they should", async ({ expect }) => {
    expect(await request("PUT", "/notes/7", { text: "buy milk" })).toEqual({
      status: 200,
      body: { notes: 1 },
    });
    expect(await request("GET", "/notes/7")).toEqual({
      status: 200,
      body: { note_id: 7, text: "buy milk" },
    });
    const wrong = await request("PUT", "/notes/seven", {});
    expect(wrong.status).toBe(422);
    expect(JSON.stringify(wrong.body)).toMatch(/note_id.*text|text.*note_id/s);
  });

  test("a route calls another endpoint's function with a key of its environment alone", async ({
    expect,
  }) => {
    expect(await request("POST", "/summary", { values: [1, 2, 6] })).toMatchObject({
      status: 200,
      body: { summary: "3 values, 3.00 in the middle", median: 2 },
    });
    const templates = await fixture.run(
      `curl -sS ${account.baseUrl}/graphql -H "Authorization: Bearer $SVC_API_KEY" -H "Content-Type: application/json" ` +
        `-d '{"query":"{ myself { endpoints { env { value } template { env { key value } } } } }"}'`,
    );
    expect(templates.stdout).toContain("_FLASH_SOURCE_FINGERPRINT");
    expect(templates.stdout).not.toContain(account.apiKey);
    expect(templates.stdout).not.toMatch(/ere_/);
  });
});
