/** Payloads as large as the limits allow, end to end over real connections, and what stays in R2. */
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, test } from "vitest";
import { RUN_BODY_MAX_BYTES, RUNSYNC_BODY_MAX_BYTES } from "../../src/contract/limits.ts";
import { readLogKey } from "../../src/domain/logs/log-key.ts";
import { startBareEdgerun, type BareEdgerun } from "../support/edgerun.ts";
import { createEndpoint } from "../support/management-client.ts";
import type { JobView } from "../../src/contract/job.ts";
import { QueueClient } from "../support/queue-client.ts";
import { until } from "../support/until.ts";

const WORKER = fileURLToPath(new URL("../support/worker-script.mjs", import.meta.url));
/** The edge may be writing at that moment. */
const LOCK_WAIT_MS = 60_000;
/** Jobs of these tests live no longer, so that what they leave behind can be seen; long enough to end before. */
const policy = { ttl: 30_000 };

describe("payloads at their limits", () => {
  let edgerun: BareEdgerun;
  let endpointId: string;
  let client: QueueClient;

  beforeAll(async () => {
    edgerun = await startBareEdgerun({ runtime: "process" });
    const dockerArgs = `"${process.execPath}" "${WORKER}"`;
    endpointId = await createEndpoint(edgerun, { name: "large", dockerArgs });
    client = new QueueClient({ ...edgerun, endpointId });
  });
  afterAll(() => edgerun.stop());

  function post(operation: string, body: string): Promise<Response> {
    return fetch(`${edgerun.baseUrl}/v2/${endpointId}/${operation}`, {
      method: "POST",
      // The length of a compressed answer is not known before its end.
      headers: { Authorization: `Bearer ${edgerun.apiKey}`, "Accept-Encoding": "identity" },
      body,
    });
  }

  /** A body of so many bytes, whose input is an object with text. */
  function bodyOf(sizeBytes: number, input: object = {}): string {
    const body = (text: string) => JSON.stringify({ policy, input: { ...input, text } });
    return body("x".repeat(sizeBytes - body("").length));
  }

  /** How many payloads the local R2 has; blobs that an interrupted upload left on the disk are none. */
  async function payloadCount(): Promise<number> {
    const directory = join(edgerun.stateDirectory, "edge/r2/miniflare-R2BucketObject");
    const files = (await readdir(directory)).filter((file) => /^[0-9a-f]+\.sqlite$/.test(file));
    const keys = files.flatMap((file) => listKeys(join(directory, file)));
    // Logs stay for days. Whatever else is there counts, whatever its name.
    return keys.filter((key) => readLogKey(key) === undefined).length;
  }

  // The first, for here it is known that nothing else is in R2.
  test("a result of 25 MB fails its job with a reason", async ({ expect }) => {
    const reply = await client.runsync({ mock_size: 25_000_000 });
    expect(reply).toMatchObject({
      status: "FAILED",
      error: expect.stringMatching(/\b250000\d\d\b.*\b20000000\b/),
    });
    expect(await payloadCount()).toBe(0);
  });

  test("a run of 10 MB, and not a byte more", async ({ expect }) => {
    const refused = await post("run", bodyOf(RUN_BODY_MAX_BYTES + 1));
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({
      status: 413,
      body: { code: "payload_too_large", error: expect.stringContaining("10 MB") },
    });
    const accepted = await post("run", bodyOf(RUN_BODY_MAX_BYTES, { mock_return: "seen" }));
    const { id } = (await accepted.json()) as JobView;
    expect(await client.result(id)).toMatchObject({ status: "COMPLETED", output: "seen" });
  });

  test("a runsync of 20 MB in and out, and not a byte more", async ({ expect }) => {
    const refused = await post("runsync", bodyOf(RUNSYNC_BODY_MAX_BYTES + 1));
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({
      status: 413,
      body: { code: "payload_too_large" },
    });
    const body = bodyOf(RUNSYNC_BODY_MAX_BYTES);
    const response = await post("runsync", body);
    const text = await response.text();
    const { status, output } = JSON.parse(text) as JobView;
    expect(status).toBe("COMPLETED");
    expect(
      JSON.stringify(output) === JSON.stringify((JSON.parse(body) as JobView & { input: object }).input),
    ).toBe(true);
    expect(Number(response.headers.get("content-length"))).toBe(Buffer.byteLength(text));
  });

  test.for(["announced", "chunked"] as const)(
    "a client that hangs up in the middle of an %s body leaves no job",
    async (kind, { expect }) => {
      const before = (await client.health()).jobs;
      const body = bodyOf(RUN_BODY_MAX_BYTES);
      const sent = request(`${edgerun.baseUrl}/v2/${endpointId}/run`, {
        method: "POST",
        headers: {
          Authorization: `Bearer ${edgerun.apiKey}`,
          ...(kind === "announced" && { "Content-Length": body.length }),
        },
      });
      const hungUp = once(sent, "error");
      await new Promise((resolve) => sent.write(body.slice(0, 8_000_000), resolve));
      sent.destroy(new Error("hung up"));
      await hungUp;

      const { id } = (await (await post("run", bodyOf(300_000, { mock_return: "next" }))).json()) as JobView;
      expect(await client.result(id)).toMatchObject({ output: "next" });
      const { completed, inQueue } = (await client.health()).jobs;
      expect({ completed, inQueue }).toEqual({ completed: before.completed + 1, inQueue: 0 });
    },
  );

  // Once for all of the above: what has expired is swept away every 10 s.
  test("when the jobs have expired nothing is left of them, nor of what was never whole", async ({
    expect,
  }) => {
    await until(async () => (await payloadCount()) === 0, "the removal of all payloads", 120_000);
    expect((await client.health()).jobs.inQueue).toBe(0);
  });
});

function listKeys(path: string): string[] {
  using database = new DatabaseSync(path, { readOnly: true, timeout: LOCK_WAIT_MS });
  return database
    .prepare("SELECT key FROM _mf_objects")
    .all()
    .map(({ key }) => String(key));
}
