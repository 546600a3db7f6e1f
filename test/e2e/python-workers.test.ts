/** The Python examples in their containers, with the unmodified SDK of their images, against a scripted agent. */
import { afterAll, beforeAll, describe, test } from "vitest";
import { isDockerAvailable } from "../support/docker.ts";
import { ScriptedAgent } from "../support/scripted-agent.ts";
import { startContainer, type StartedWorker } from "../support/started-worker.ts";
import { ensureWorkerImage } from "../support/worker-image.ts";

const hasDocker = await isDockerAvailable();

/** A container that serves one agent, both gone when out of scope. */
class Bench implements AsyncDisposable {
  readonly agent: ScriptedAgent;
  readonly worker: StartedWorker;

  private constructor(agent: ScriptedAgent, worker: StartedWorker) {
    this.agent = agent;
    this.worker = worker;
  }

  static async with(
    image: string,
    options: { args?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
  ): Promise<Bench> {
    const agent = await ScriptedAgent.listen();
    const env = { ...agent.workerEnv(), ...options.env };
    return new Bench(agent, await startContainer(image, env, options.args));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.worker[Symbol.asyncDispose]();
    await this.agent[Symbol.asyncDispose]();
  }
}

describe.runIf(hasDocker)("the mock worker", () => {
  let image = "";
  let bench: Bench;
  beforeAll(async () => {
    image = await ensureWorkerImage("mock-worker");
    bench = await Bench.with(image);
  });
  afterAll(async () => await bench[Symbol.asyncDispose]());

  test("returns, waits, reports progress and logs as its input says", async ({ expect }) => {
    const { agent, worker } = bench;
    expect(await agent.submit({}).result).toEqual({ output: "Hello World!" });
    expect(await agent.submit({ mock_return: { n: [1, "é"] } }).result).toEqual({
      output: { n: [1, "é"] },
    });
    const job = agent.submit({ mock_progress: { updates: 3, wait_time: 0.2 }, mock_logs: ["one", "two"] });
    expect(await job.result).toEqual({ output: "Hello World!" });
    // The SDK posts progress in a thread of its own, and Docker collects output beside: both may come after the result.
    await expect.poll(() => job.progress).toEqual(["Update 1/3", "Update 2/3", "Update 3/3"]);
    await expect.poll(() => worker.output()).toContain("one\ntwo\n");
  });

  test("fails with an exception, with an error as text and with an error as an object", async ({
    expect,
  }) => {
    const { agent } = bench;
    const raised = await agent.submit({ mock_error: "told to" }).result;
    expect(JSON.parse(String(raised.error))).toMatchObject({ error_message: "told to" });
    const asText = await agent.submit({ mock_error_value: "no" }).result;
    expect(asText).toEqual({ error: "no" });
    const asObject = await agent.submit({ mock_error_value: { code: 7 } }).result;
    expect(asObject).toEqual({ error: { code: 7 } });
  });

  test("answers with as many megabytes as its input says", async ({ expect }) => {
    const { output } = await bench.agent.submit({ mock_megabytes: 3 }).result;
    expect((output as { filler: string }).filler.length).toBe(3 * 1024 * 1024);
  });

  test("posts nothing for a value that is not JSON, and takes the next job", async ({ expect }) => {
    const lost = bench.agent.submit({ mock_unserialisable: true });
    const next = bench.agent.submit({});
    const first = await Promise.race([lost.result.then(() => "lost"), next.result.then(() => "next")]);
    expect(first).toBe("next");
  });

  test("never returns until it is stopped", async ({ expect }) => {
    const endless = bench.agent.submit({ mock_never: true, mock_progress: { updates: 1 } });
    await endless.underWay;
    bench.agent.stop(endless.id);
    expect(await bench.agent.submit({}).result).toEqual({ output: "Hello World!" });
  });

  test("requests a new container, continues, and crashes with code 1 when its input says so", async ({
    expect,
  }) => {
    await using own = await Bench.with(image);
    const { output, stopPod } = await own.agent.submit({ mock_refresh: true, mock_return: 1 }).result;
    expect({ output, stopPod }).toEqual({ output: { mock_return: 1 }, stopPod: true });
    own.agent.submit({ mock_crash: true });
    expect(await own.worker.ended()).toBe(1);
  });

  test("runs as many jobs at once as CONCURRENCY_MODIFIER says", async ({ expect }) => {
    await using own = await Bench.with(image, { env: { CONCURRENCY_MODIFIER: "3" } });
    const jobs = [1, 2, 3].map(() => own.agent.submit({ mock_never: true, mock_progress: { updates: 1 } }));
    await Promise.all(jobs.map((job) => job.underWay));
    for (const job of jobs) own.agent.stop(job.id);
    expect(await own.agent.submit({}).result).toEqual({ output: "Hello World!" });
  });

  test.for([
    { flags: ["--generator"], output: [] },
    { flags: ["--async_generator", "--return_aggregate_stream"], output: ["a", { b: 1 }] },
  ])("streams its chunks with $flags", async ({ flags, output }, { expect }) => {
    await using own = await Bench.with(image, { args: flags });
    const job = own.agent.submit({ mock_return: ["a", { b: 1 }] });
    expect(await job.result).toEqual({ output });
    expect(job.chunks).toEqual(["a", { b: 1 }]);
    const failing = own.agent.submit({ mock_return: ["a"], mock_error: "after one" });
    expect(String((await failing.result).error)).toContain("after one");
    expect(failing.chunks).toContain("a");
  });
});

/** Similarities that the model's makers publish for these three sentences. */
const PUBLISHED = {
  texts: ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."],
  similarities: [
    [1, 0.666, 0.1046],
    [0.666, 1, 0.1411],
    [0.1046, 0.1411, 1],
  ],
};

describe.runIf(hasDocker)("the embeddings worker", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.with(await ensureWorkerImage("embeddings"));
  });
  afterAll(async () => await bench[Symbol.asyncDispose]());

  test("gives the similarities that the model is known for", async ({ expect }) => {
    const { output } = await bench.agent.submit({ texts: PUBLISHED.texts }).result;
    const { embeddings, dimensions } = output as { embeddings: number[][]; dimensions: number };
    expect(dimensions).toBe(384);
    const similarities = embeddings.map((a) => embeddings.map((b) => dot(a, b)));
    for (const [row, expected] of PUBLISHED.similarities.entries()) {
      for (const [column, value] of expected.entries()) {
        expect(similarities[row]?.[column]).toBeCloseTo(value, 3);
      }
    }
  });

  test("answers one text with one vector, and says what it needs", async ({ expect }) => {
    const { output } = await bench.agent.submit({ text: "light" }).result;
    expect((output as { embedding: number[] }).embedding).toHaveLength(384);
    const { error } = await bench.agent.submit({ txt: "light" }).result;
    expect(error).toBe("input needs text (a string) or texts (a list of strings)");
  });
});

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}
