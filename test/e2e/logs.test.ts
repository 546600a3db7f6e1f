/** Logs on a whole Edgerun: found by job, followed as they are printed, whole though the agent is killed. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { LogLineView } from "../../src/contract/agent/log.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { LogClient } from "../support/log-client.ts";
import { createEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";
import { ensureScriptImage } from "../support/script-image.ts";

const SCRIPT = fileURLToPath(new URL("../support/worker-script.mjs", import.meta.url));
const runtimes = (await isDockerAvailable()) ? (["process", "docker"] as const) : (["process"] as const);

/** Usually long enough to kill and restart an agent in between. */
const PAUSE_SECONDS = 3;

const texts = (lines: readonly LogLineView[]): string[] => lines.map(({ line }) => line);

describe.for(runtimes)("with workers in the %s runtime", (runtime) => {
  let account: AccountHost;
  let queue: QueueClient;
  let logs: LogClient;

  beforeAll(async () => {
    const settings =
      runtime === "docker"
        ? { imageName: await ensureScriptImage() }
        : { dockerArgs: `"${process.execPath}" "${SCRIPT}"` };
    account = await startAccountHost("logs", runtime);
    const endpointId = await createEndpoint(account, { name: "logs", ...settings, workersMax: 1 });
    queue = new QueueClient({ ...account, endpointId });
    logs = new LogClient({ ...account, endpointId });
  });
  afterAll(() => account.stop());

  test("the lines of a job are found by its id, beside what happened to its worker", async ({ expect }) => {
    const first = await queue.run({ mock_print: ["first job, line 1", "first job, line 2"] });
    await queue.result(first.id);
    const ofFirst = await logs.until({ jobId: first.id }, (lines) => lines.length >= 2);
    expect(texts(ofFirst)).toEqual(["first job, line 1", "first job, line 2"]);
    const second = await queue.run({ mock_print: ["second job"] });
    const { workerId = "" } = await queue.result(second.id);
    expect(texts(await logs.until({ jobId: second.id }, (lines) => lines.length > 0))).toEqual([
      "second job",
    ]);
    const events = texts(await logs.lines({ workerId, source: "system" }));
    expect(events).toEqual(
      expect.arrayContaining([
        "Assigned to this host.",
        "The worker was started.",
        "Ready: it asks for jobs.",
      ]),
    );
  });

  test("a follower gets lines as they are printed", async ({ expect }) => {
    const stop = new AbortController();
    const followed = logs.follow({ source: "container", limit: "1" }, stop.signal);
    await followed.next(); // of the job before, which is kept
    const delays: number[] = [];
    for (let number = 1; number <= 5; number += 1) {
      await queue.run({ mock_print: [`live ${number}`] });
      const { value } = await followed.next();
      delays.push(Date.now() - (value?.at ?? 0));
      expect(value?.line).toBe(`live ${number}`);
    }
    console.info(`${runtime}: a line is seen ${delays.join(", ")} ms after it was printed.`);
    stop.abort();
    const kept = await logs.until({ search: "live" }, (lines) => lines.length >= 5);
    expect(texts(kept)).toEqual([1, 2, 3, 4, 5].map((number) => `live ${number}`));
  });

  test("no line is lost or doubled when the agent is killed", async ({ expect }) => {
    const job = (number: number) => ({
      mock_print: [`${number}: before`],
      mock_delay: PAUSE_SECONDS,
      mock_print_then: [`${number}: after`],
    });
    const first = await queue.run(job(1));
    await logs.until({ search: "1: before" }, (lines) => lines.length > 0);
    // A job that its worker never got would run again, too, and have printed nothing the first time.
    const stop = new AbortController();
    const printed = logs.follow({ search: "2: before" }, stop.signal).next();
    const second = await queue.run(job(2));
    await printed; // and not kept yet
    process.kill(account.agentPid(), "SIGKILL");
    stop.abort();
    await Promise.all([first, second].map(({ id }) => queue.result(id)));
    // A worker that finds no agent when it has a result drops it: the job runs, and prints, again.
    const runs = 1 + ((await queue.status(second.id)).retries ?? 0);
    const count = (lines: readonly LogLineView[], text: string) =>
      texts(lines).filter((line) => line === text).length;
    const lines = await logs.until(
      { search: ": " },
      (found) => count(found, "2: before") >= runs && count(found, "2: after") > 0,
    );
    const counts = ["1: before", "1: after", "2: before"].map((text) => count(lines, text));
    expect(counts).toEqual([1, 1, runs]);
    expect(count(lines, "2: after")).toBeLessThanOrEqual(runs);
  });
});
