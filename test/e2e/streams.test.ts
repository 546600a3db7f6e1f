/** What handlers yield, end to end, as server-sent events, with parts killed. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, test } from "vitest";
import { startBareEdgerun, type BareEdgerun } from "../support/edgerun.ts";
import { Gate } from "../support/gate.ts";
import { readEvents, type StreamEvent } from "../support/event-client.ts";
import { createEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";
import { until } from "../support/until.ts";

const pathOf = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

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
    await until(
      async () => (await readFile(log, "utf8")).includes("worker_adopted"),
      "worker_adopted",
      60_000,
    );
  }

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
        // They came while the handler waits: as they were yielded.
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
