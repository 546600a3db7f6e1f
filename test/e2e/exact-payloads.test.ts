/**
 * JSON texts that no encoder writes, through every operation that carries users' values, to a worker that parses
 * nothing and back. EXACT_TEXTS is how many there are, EXACT_SEED which: a failure says both.
 */
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, test } from "vitest";
import { EACH, type JsonPath } from "../../src/json/json-carver.ts";
import { cutJson, cutsAt, type RawJson } from "../../src/json/raw-json.ts";
import { RUN_BODY_MAX_BYTES } from "../../src/contract/limits.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { Gate } from "../support/gate.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { randomJson, seededRandom } from "../support/json-texts.ts";
import { createEndpoint } from "../support/management-client.ts";
import { ensureScriptImage } from "../support/script-image.ts";
import { until } from "../support/until.ts";
import { WebhookReceiver } from "../support/webhook-receiver.ts";

const WORKER = fileURLToPath(new URL("../support/worker-script.mjs", import.meta.url));
const COUNT = Number(process.env["EXACT_TEXTS"] ?? 250);
const SEED = Number(process.env["EXACT_SEED"] ?? 1);
const CLIENTS = 8;
const EVENTS = { Accept: "text/event-stream" };
const CHUNK_MAX_BYTES = 1_000_000;
/** One text in so many is large; the others are of all sizes up to 100 kB. */
const LARGE_EVERY = 41;
/** What a body has beside the text, at most. */
const BESIDE_BYTES = 100_000;
/** Batches have the lowest rate limit. */
const BATCH_EVERY = 40;

/** The example that was found first. */
const KNOWN = '{"seed":18446744073709551615,"cfg":7.0,"x":1e400,"z":-0,"s":"\\ud800\\/","b":1,"a":[1.0]}';

describe.for([
  { runtime: "process", isThere: true, count: COUNT },
  { runtime: "docker", isThere: await isDockerAvailable(), count: Math.ceil(COUNT / 5) },
] as const)("values in the $runtime runtime", ({ runtime, isThere, count }) => {
  let account: AccountHost;
  let receiver: WebhookReceiver;
  let address: string;

  beforeAll(async () => {
    if (!isThere) return;
    const imageName = runtime === "docker" ? await ensureScriptImage() : "none";
    receiver = await WebhookReceiver.start();
    account = await startAccountHost("exact payloads", runtime);
    const endpointId = await createEndpoint(account, {
      name: "raw",
      imageName,
      dockerArgs: runtime === "docker" ? "" : `"${process.execPath}" "${WORKER}"`,
      env: { MOCK_RAW: "1" },
      workersMin: 2,
      workersMax: 2,
    });
    address = `${account.baseUrl}/v2/${endpointId}`;
  });
  afterAll(async () => {
    await receiver?.stop();
    await account?.stop();
  });

  /** Sends a body, with its length or in chunks, again after a rate limit; answers the text that came. */
  async function ask(
    method: string,
    path: string,
    body?: string,
    isChunked = false,
    headers: Record<string, string> = {},
  ): Promise<Uint8Array> {
    for (;;) {
      const sent = body !== undefined && isChunked ? new Blob([body]).stream() : body;
      const response = await fetch(`${address}/${path}`, {
        method,
        headers: { Authorization: `Bearer ${account.apiKey}`, ...headers },
        ...(sent !== undefined && { body: sent, duplex: "half" }),
      });
      const bytes = await response.bytes();
      if (response.ok) return bytes;
      if (response.status !== 429) throw new Error(`${response.status}: ${new TextDecoder().decode(bytes)}`);
      // oxlint-disable-next-line edgerun/no-sleeps -- the edge says how long to wait
      await delay(1_000 * Number(response.headers.get("Retry-After")));
    }
  }

  async function submit(body: string, isChunked: boolean): Promise<string> {
    return (JSON.parse(new TextDecoder().decode(await ask("POST", "run", body, isChunked))) as { id: string })
      .id;
  }

  const cutAt = (bytes: Uint8Array, ...paths: JsonPath[]) => cutJson(bytes, cutsAt(...paths));
  /** The output of a completed job; its status leaves null out. */
  const output = (bytes: Uint8Array) => {
    const job = cutAt(bytes, ["output"]) as { status: string; output?: RawJson };
    return job.status === "COMPLETED" ? (job.output?.json ?? "null") : undefined;
  };

  type Way = (input: string, isChunked: boolean, random: () => number) => Promise<string | undefined>;
  const ways: Record<string, Way> = {
    runsync: async (input, isChunked) =>
      output(await ask("POST", "runsync", `{"input":${input}}`, isChunked)),
    run: async (input, isChunked, random) => {
      const config = s3Config(random);
      const body = `{ "policy":{"ttl":600000}, "s3Config": ${config} , "input" : ${input} }`;
      const id = await submit(body, isChunked);
      const returned = output(await ask("GET", `status-sync/${id}`));
      return returned === `[${config},${input}]` ? input : `${returned} with ${config}`;
    },
    retry: async (input, isChunked) => {
      const text = `["fail once",${input}]`;
      const id = await submit(`{"input":${text}}`, isChunked);
      // Each worker fails it once.
      for (let status = await ask("GET", `status-sync/${id}`); ;) {
        const returned = output(status);
        if (returned !== undefined) return returned === text ? input : returned;
        await ask("POST", `retry/${id}`);
        status = await ask("GET", `status-sync/${id}`);
      }
    },
    stream: async (input, isChunked) => {
      const id = await submit(`{"input":${input}}`, isChunked);
      if (Buffer.byteLength(input) > CHUNK_MAX_BYTES) return output(await ask("GET", `status-sync/${id}`));
      await ask("GET", `status-sync/${id}`);
      type Streamed = { stream: { output: RawJson }[] };
      const { stream } = cutAt(await ask("GET", `stream/${id}`), ["stream", EACH, "output"]) as Streamed;
      return stream[0]?.output.json;
    },
    events: async (input, isChunked) => {
      const id = await submit(`{"input":${input}}`, isChunked);
      const events = new TextDecoder().decode(await ask("GET", `stream/${id}`, undefined, false, EVENTS));
      const datas = events.split("\n").filter((line) => line.startsWith("data: "));
      const values = datas.map((line) => {
        const [head = ""] = line.split('"output":', 1);
        return line.slice(head.length + '"output":'.length, -1) || "null";
      });
      // The chunk and the output; a text that is too long for a chunk is the output only.
      const isWhole = values.length === (Buffer.byteLength(input) > CHUNK_MAX_BYTES ? 1 : 2);
      // Line breaks end the data of an event; in JSON text they are space.
      const isSame = isWhole && values.every((json) => json === input.replace(/[\n\r]/g, " "));
      return isSame ? input : events;
    },
    batch: async (input, isChunked) => {
      const body = `[{"input":1.0},{"input":${input}}]`;
      const { id } = JSON.parse(new TextDecoder().decode(await ask("POST", "batch", body, isChunked))) as {
        id: string;
      };
      await ask("POST", `batch/${id}/finalize`);
      type Page = { requests: { status: string; output?: RawJson }[] };
      const look = async () => {
        const page = await ask("GET", `batch/${id}/requests`);
        const { requests } = cutAt(page, ["requests", EACH, "output"]) as Page;
        return requests.every(({ status }) => status === "COMPLETED") && requests;
      };
      return (await until(look, `the jobs of the batch ${id}`, 60_000))[1]?.output?.json;
    },
    webhook: async (input, isChunked) => {
      const key = crypto.randomUUID();
      const webhook = `${receiver.url}/200/${key}`;
      await submit(`{"webhook":"${webhook}","input":${input}}`, isChunked);
      const [call] = await receiver.received(key, 1);
      const body = cutAt(new TextEncoder().encode(call?.body), ["input"], ["output"]);
      const told = body as { input: RawJson; output?: RawJson };
      const returned = told.output?.json ?? "null";
      return told.input.json === returned ? returned : `${told.input.json} is not its output`;
    },
    openai: async (input, isChunked) => {
      const body = `{"model":${input}}`;
      const answer = new TextDecoder().decode(await ask("POST", "openai/v1/completions", body, isChunked));
      const expected = `{"openai_route":"/v1/completions","openai_input":${body}}`;
      return answer === expected ? input : answer;
    },
  };

  test.runIf(isThere)(
    `come back as they were sent: ${count} texts of seed ${SEED}`,
    { timeout: 60_000 + count * 300 },
    async ({ expect }) => {
      const { batch: _, ...unlimited } = ways;
      const names = Object.keys(unlimited);
      let next = 0;
      const client = async () => {
        for (let index = next++; index < count; index = next++) {
          const random = seededRandom(SEED * 1_000_003 + index);
          const name = index % BATCH_EVERY === 0 ? "batch" : (names[index % names.length] ?? "");
          const input = index < names.length ? KNOWN : textFor(index, name, random);
          const returned = await ways[name]?.(input, random() < 0.3, random);
          // Not printed whole: it may have megabytes.
          if (returned !== input)
            expect.fail(`${name} changes text ${index}: ${difference(input, returned)}`);
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, client));
      expect(next).toBeGreaterThanOrEqual(count);
    },
  );

  // In a container there is no such file.
  if (runtime === "docker") return;
  test("stand in the progress of a job as they are", async ({ expect }) => {
    const gate = new Gate(account.stateDirectory);
    const input = `["until",${JSON.stringify(gate.file)},${KNOWN}]`;
    const id = await submit(`{"input":${input}}`, false);
    for (;;) {
      const job = cutAt(await ask("GET", `status/${id}`), ["output"]) as {
        status: string;
        output?: RawJson;
      };
      if (!job.output) continue;
      expect([job.status, job.output.json]).toEqual(["IN_PROGRESS", input]);
      break;
    }
    gate.open();
    expect(output(await ask("GET", `status-sync/${id}`))).toBe(input);
  });
});

/** Members that the edge knows are valid, and may be spelled with escapes; others are of any kind. */
function s3Config(random: () => number): string {
  const others = randomJson(random, 10 * 800 ** random());
  return `{"bucketName":"b\\/\\ud800", "\\u0061ccessId":"é","seed": ${KNOWN},"others":${others} }`;
}

/** Some texts come out longer than was asked for; none is longer than a body of `run` may be. */
function textFor(index: number, way: string, random: () => number): string {
  for (;;) {
    const text = randomJson(random, sizeOf(index, way, random));
    if (way === "runsync" || Buffer.byteLength(text) < RUN_BODY_MAX_BYTES - BESIDE_BYTES) return text;
  }
}

function sizeOf(index: number, way: string, random: () => number): number {
  const isLarge = index % LARGE_EVERY === LARGE_EVERY - 1;
  const maxBytes = isLarge ? (way === "runsync" ? 12_000_000 : 8_000_000) : 100_000;
  return 10 * (maxBytes / 10) ** random();
}

function difference(sent: string, returned = ""): string {
  let at = 0;
  while (at < sent.length && sent[at] === returned[at]) at += 1;
  const from = Math.max(0, at - 20);
  return `${sent.slice(from, from + 60)} became ${returned.slice(from, from + 60)} (at ${at} of ${sent.length})`;
}
