/** An endpoint is changed while clients use it: no job is lost or runs twice, and jobs end up in the new release. */
import { resolve } from "node:path";
import Dockerode from "dockerode";
import { afterAll, beforeAll, describe, test } from "vitest";
import { isDockerAvailable } from "../support/docker.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { QueueClient } from "../support/queue-client.ts";
import { RolloutEndpoint, type Command } from "../support/rollout-endpoint.ts";
import { ensureScriptImage } from "../support/script-image.ts";
import { SteadyLoad } from "../support/steady-load.ts";

const WORKER = `"${process.execPath}" "${resolve(import.meta.dirname, "../support/worker-script.mjs")}"`;
const WORKERS = 2;
const CLIENTS = 3;
const JOB = { mock_env: "WORD", mock_delay: 0.2 };
const OTHER_TAG = `rolled-${process.pid}`;

const runtime = (await isDockerAvailable()) ? "docker" : "process";

const word = (value: string, more: Record<string, string> = {}) => ({
  env: Object.entries({ WORD: value, ...more }).map(([key, text]) => ({ key, value: text })),
});

describe(`with workers in the ${runtime} runtime`, () => {
  let account: AccountHost;
  let command: Command = { imageName: "any:1", dockerArgs: WORKER };
  let otherImage = "any:2";

  beforeAll(async () => {
    if (runtime === "docker") {
      command = { imageName: await ensureScriptImage(), dockerArgs: "" };
      const repo = command.imageName.split(":")[0] ?? "";
      otherImage = `${repo}:${OTHER_TAG}`;
      await new Dockerode().getImage(command.imageName).tag({ repo, tag: OTHER_TAG });
    }
    account = await startAccountHost("rolling release", runtime);
  });
  afterAll(async () => {
    await account.stop();
    if (runtime === "docker") await new Dockerode().getImage(otherImage).remove();
  });

  const open = async () =>
    await RolloutEndpoint.open(account, { ...command, workers: WORKERS, env: { WORD: "one" } });
  const put = (endpoint: RolloutEndpoint) =>
    new SteadyLoad({ ...account, endpointId: endpoint.endpointId }, CLIENTS, () => JOB);
  const healthOf = async ({ endpointId }: RolloutEndpoint) =>
    await new QueueClient({ ...account, endpointId }).health();

  test("other variables, then another image: all jobs complete, each once, and soon in the new release", async ({
    expect,
  }) => {
    await using endpoint = await open();
    await using load = put(endpoint);
    await load.untilOneSince(0);
    const ends: number[] = [];
    for (const [index, change] of [word("two"), { ...word("three"), imageName: otherImage }].entries()) {
      await endpoint.change(change);
      await endpoint.untilReplaced(WORKERS, index + 2);
      ends.push(performance.now());
      await load.untilOneSince(ends[index] ?? 0);
    }
    await load.stop();

    const outputsSince = (time = 0) => [
      ...new Set(load.jobs.filter((job) => job.submittedAt >= time).map(({ reply }) => reply.output)),
    ];
    expect(load.jobs.filter(({ reply }) => reply.status !== "COMPLETED")).toEqual([]);
    expect((await healthOf(endpoint)).jobs).toMatchObject({ failed: 0, retried: 0, inQueue: 0 });
    expect(Math.max(...endpoint.samples.map(({ all }) => all))).toBeLessThanOrEqual(WORKERS + 1);
    expect(outputsSince()).toEqual(["one", "two", "three"]);
    expect(outputsSince(ends[0])).not.toContain("one");
    expect(outputsSince(ends[1])).toEqual(["three"]);
  });

  test("a failed release keeps the previous workers running and says why; the next release completes", async ({
    expect,
  }) => {
    await using endpoint = await open();
    await using load = put(endpoint);
    await endpoint.change(word("bad", { MOCK_EXIT_AT_START: "3" }));
    const { release, all } = await endpoint.until(
      (sample) => (sample.release?.stalledSince ?? null) !== null,
    );
    expect(release).toMatchObject({ from: 1, to: 2, outdated: WORKERS, current: 1, ready: 0 });
    expect(release?.reason).toMatch(/exit/i);
    expect(all).toBe(WORKERS + 1);
    expect((await load.untilOneSince(performance.now())).reply.output).toBe("one");

    await endpoint.change(word("good"));
    await endpoint.untilReplaced(WORKERS, 3);
    expect((await load.untilOneSince(performance.now())).reply.output).toBe("good");
    await load.stop();
    expect(load.jobs.filter(({ reply }) => reply.status !== "COMPLETED")).toEqual([]);
    expect((await healthOf(endpoint)).jobs).toMatchObject({ failed: 0, retried: 0 });
  });
});
