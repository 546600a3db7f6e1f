/** What handlers yield, end to end: by the published clients and as server-sent events, with parts killed. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { afterAll, beforeAll, describe, test } from "vitest";
import { ensureClientVenv } from "../support/client-venv.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { startBareEdgerun, type BareEdgerun } from "../support/edgerun.ts";
import { Gate } from "../support/gate.ts";
import { readEvents, type StreamEvent } from "../support/event-client.ts";
import { createEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";
import { ensureWorkerImage } from "../support/worker-image.ts";

const LOOK_AGAIN_MS = 50;
const pathOf = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

/** What a client script prints about the stream of a job with this input. */
async function streamWith(
  program: string,
  file: string,
  edgerun: BareEdgerun,
  endpointId: string,
  input: object,
): Promise<unknown> {
  const target = [
    "--base-url",
    `${edgerun.baseUrl}/v2`,
    "--api-key",
    edgerun.apiKey,
    "--endpoint",
    endpointId,
  ];
  const { stdout } = await execa(program, [pathOf(file), ...target, "--input", JSON.stringify(input)]);
  return JSON.parse(stdout);
}

async function collect(events: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const all: StreamEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

let python = "";
beforeAll(async () => {
  python = await ensureClientVenv();
});

const outputOf = ({ data }: StreamEvent): unknown => (data as { output: unknown }).output;

describe("a worker as a plain process", () => {
  let edgerun: BareEdgerun;
  let endpointId: string;
  let client: QueueClient;

  beforeAll(async () => {
    edgerun = await startBareEdgerun({ runtime: "process" });
    const dockerArgs = `"${process.execPath}" "${pathOf("test/support/worker-script.mjs")}"`;
    endpointId = await createEndpoint(edgerun, { name: "streams", dockerArgs });
    client = new QueueClient({ ...edgerun, endpointId });
  });
  afterAll(() => edgerun.stop());

  /** Resolves once a new agent serves the workers of the one that was killed. */
  async function untilAdopted(): Promise<void> {
    const log = join(edgerun.stateDirectory, "agent.log");
    while (!(await readFile(log, "utf8")).includes("worker_adopted")) await delay(LOOK_AGAIN_MS);
  }

  const chunks = ["a", { token: "é" }, 3, null, ...numbers(20)];
  const input = { mock_stream: chunks, mock_stream_pause: 0.05 };

  test("the npm package runpod-sdk gets each chunk once", async ({ expect }) => {
    const got = await streamWith(process.execPath, "test/clients/stream.mjs", edgerun, endpointId, input);
    expect(got).toEqual(chunks);
  });

  test("the PyPI package runpod gets each chunk once and ends, sync and asyncio", async ({ expect }) => {
    const got = await streamWith(python, "test/clients/stream_client.py", edgerun, endpointId, input);
    expect(got).toEqual({ sync: chunks, asyncio: chunks });
  });

  test("events come soon after they were yielded", async ({ expect }) => {
    const { id } = await client.run({ mock_stream_times: 200, mock_stream_pause: 0.02, mock_stream: [] });
    const events = await collect(readEvents({ ...edgerun, endpointId }, id));
    const delays = events
      .filter(({ event }) => event === "message")
      .map((event) => event.receivedAt - Number(outputOf(event)))
      .toSorted((a, b) => a - b);
    const [p50, p99] = [0.5, 0.99].map((share) => delays[Math.floor(delays.length * share)]?.toFixed(1));
    console.info(`from the yield to the event at the client: p50 ${p50} ms, p99 ${p99} ms, 50 chunks/s`);
    expect(delays).toHaveLength(200);
    expect(Number(p50)).toBeLessThan(500);
  });

  test.for(["agent", "edge"] as const)(
    "kill -9 of the %s in the middle of a stream",
    async (victim, { expect }) => {
      const gate = new Gate(edgerun.stateDirectory);
      const rest = { mock_until_rest: gate.file, mock_stream_rest: numbers(10) };
      const { id } = await client.run({ mock_stream: numbers(10), ...rest });
      const events: StreamEvent[] = [];
      for await (const event of readEvents({ ...edgerun, endpointId }, id)) {
        events.push(event);
        if (events.length !== 10) continue;
        process.kill(edgerun.pids()[victim], "SIGKILL");
        // A chunk that finds no agent is lost, as with the SDK.
        void (victim === "agent" ? untilAdopted() : edgerun.printed(/^edge: running again/m)).then(() =>
          gate.open(),
        );
      }
      const status = events.pop();
      expect(events.map(outputOf)).toEqual([...numbers(10), ...numbers(10)]);
      expect(events.map((event) => event.id)).toEqual(numbers(20));
      expect(status).toMatchObject({ event: "status", data: { id, status: "COMPLETED", output: [] } });
    },
  );
});

describe.runIf(await isDockerAvailable())("a generator of the unmodified Python SDK in a container", () => {
  test("streams to the published clients and as events", async ({ expect }) => {
    const image = await ensureWorkerImage("mock-worker");
    await using edgerun = await startBareEdgerun({ runtime: "docker" });
    const dockerArgs = "--async_generator --return_aggregate_stream";
    const endpointId = await createEndpoint(edgerun, { name: "generator", imageName: image, dockerArgs });
    const chunks = ["a", { b: "é" }, 3, ...numbers(10)];
    const input = { mock_return: chunks, mock_delay: 0.1 };

    const js = await streamWith(process.execPath, "test/clients/stream.mjs", edgerun, endpointId, input);
    const py = await streamWith(python, "test/clients/stream_client.py", edgerun, endpointId, input);
    expect({ js, py }).toEqual({ js: chunks, py: { sync: chunks, asyncio: chunks } });

    const { id } = await new QueueClient({ ...edgerun, endpointId }).run(input);
    const events = await collect(readEvents({ ...edgerun, endpointId }, id));
    const status = events.pop();
    expect(events.map(outputOf)).toEqual(chunks);
    expect(status).toMatchObject({ event: "status", data: { status: "COMPLETED", output: chunks } });
  });
});
