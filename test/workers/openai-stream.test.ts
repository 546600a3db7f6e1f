/** Streamed answers of OpenAI's routes: what the worker yields, as it yields it. */
import fc from "fast-check";
import { beforeEach, describe, test } from "vitest";
import { EdgeClient } from "./edge-client.ts";
import { channelOf, evict, kill } from "./object.ts";
import { CHAT, Engine, QUESTION } from "./openai-engine.ts";

const api = new EdgeClient();
const { signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);

const STREAMED = { ...QUESTION, stream: true };
const frame = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
const DONE = "data: [DONE]\n\n";

describe("a streamed answer", () => {
  test("begins with the first chunk, and passes each on at once", async ({ expect }) => {
    const engine = await Engine.start(api);
    const client = engine.ask(STREAMED);
    const job = await engine.take();
    expect(job.input).toEqual({ openai_route: CHAT, openai_input: STREAMED });
    await engine.yields(job, 1, frame("H"));
    const { status, headers } = await client.response;
    expect(status).toBe(200);
    expect(headers.get("Content-Type")).toContain("text/event-stream");
    expect(headers.get("X-Request-Id")).toBe(job.id);
    expect(await client.next()).toBe(frame("H"));
    await engine.yields(job, 2, frame("i"));
    expect(await client.next()).toBe(frame("i"));
    await engine.yields(job, 3, DONE);
    await engine.complete(job, []);
    expect(await client.rest()).toBe(DONE);
    expect(await engine.statusOf(job.id)).toBe("COMPLETED");
  });

  test("is the worker's text, byte for byte, however that is cut", async () => {
    const engine = await Engine.start(api);
    const anyText = fc.string({
      unit: fc.constantFrom("a", "é", "😀", "\n", "\r", ":", "data: ", "{", '"', "\\", "\u2028"),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(anyText, { minLength: 1 }), { minLength: 1, maxLength: 6 }),
        async (batches) => {
          const texts = [["data: {}\n\n"], ...batches, ["\n\n", DONE]];
          const client = engine.ask(STREAMED);
          const job = await engine.take();
          let from = 1;
          for (const batch of texts) {
            await engine.yields(job, from, ...batch);
            from += batch.length;
          }
          await engine.complete(job, []);
          const [received, sent] = [await client.rest(), texts.flat().join("")];
          if (received !== sent)
            throw new Error(`${JSON.stringify(received)} is not ${JSON.stringify(sent)}`);
        },
      ),
      { numRuns: 15 },
    );
  });

  test("of values has them in frames, and an end", async ({ expect }) => {
    const engine = await Engine.start(api);
    const client = engine.ask(STREAMED);
    const job = await engine.take();
    await engine.yields(job, 1, { a: 1 }, [{ b: "\n" }, { c: 3 }]);
    await engine.complete(job, []);
    expect(await client.rest()).toBe(`data: {"a":1}\n\ndata: {"b":"\\n"}\n\ndata: {"c":3}\n\n${DONE}`);
  });

  test("gets no end that its route does not know", async ({ expect }) => {
    const engine = await Engine.start(api);
    const client = engine.ask(STREAMED, "/v1/responses");
    const job = await engine.take();
    const events = `event: response.created\ndata: {}\n\nevent: response.completed\ndata: {}\n\n`;
    await engine.yields(job, 1, events);
    await engine.complete(job, []);
    expect(await client.rest()).toBe(events);
  });

  test("is one event when the worker does not yield", async ({ expect }) => {
    const engine = await Engine.start(api);
    const client = engine.ask(STREAMED);
    await engine.complete(await engine.take(), { a: 1 });
    expect(await client.rest()).toBe(`data: {"a":1}\n\n${DONE}`);
  });

  test("outlasts the object's memory", async ({ expect }) => {
    const engine = await Engine.start(api);
    const client = engine.ask(STREAMED);
    const job = await engine.take();
    await engine.yields(job, 1, frame("1"));
    expect(await client.next()).toBe(frame("1"));
    for (const [number, content] of [
      [2, "2"],
      [3, "3"],
    ] as const) {
      await channelOf(engine.endpointId, "stream:2");
      await evict(engine.endpointId);
      await engine.yields(job, number, frame(content));
      expect(await client.next()).toBe(frame(content));
    }
    await channelOf(engine.endpointId, "stream:2");
    await evict(engine.endpointId);
    await engine.complete(job, []);
    expect(await client.rest()).toBe(DONE);
  });
});

describe("a failure", () => {
  test("before the first chunk has its own status", async ({ expect }) => {
    const engine = await Engine.start(api);
    const failed = engine.ask(STREAMED);
    await engine.fail(await engine.take(), "{'message': 'no', 'type': 'BadRequestError', 'code': 400}");
    const response = await failed.response;
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: { message: "no", type: "BadRequestError", param: null, code: 400 },
    });
    const refused = engine.ask(STREAMED);
    const job = await engine.take();
    await engine.yields(job, 1, { object: "error", message: "no", type: "t", param: null, code: 404 });
    expect((await refused.response).status).toBe(404);
    await engine.until(job.id, "CANCELLED");
  });

  test("in the middle is the last event, on a separate line", async ({ expect }) => {
    const engine = await Engine.start(api);
    const client = engine.ask(STREAMED);
    const job = await engine.take();
    await engine.yields(job, 1, frame("H"), "data: {");
    await engine.fail(job, "out of memory");
    const error = { message: "out of memory", type: "server_error", param: null, code: null };
    expect(await client.rest()).toBe(`${frame("H")}data: {\n\ndata: ${JSON.stringify({ error })}\n\n`);
  });

  test("of the worker ends an answer that it had begun, which is not begun again", async ({ expect }) => {
    const engine = await Engine.start(api);
    const client = engine.ask(STREAMED);
    const job = await engine.take();
    await engine.yields(job, 1, frame("H"));
    expect(await client.next()).toBe(frame("H"));
    await engine.lose(job);
    expect(await client.rest()).toMatch(/^data: \{"error":\{.*"code":"worker_lost"\}\}\n\n$/);
    await engine.until(job.id, "CANCELLED");
  });

  test("of a worker that had yielded nothing is made good by the next one", async ({ expect }) => {
    const engine = await Engine.start(api);
    const client = engine.ask(STREAMED);
    await engine.lose(await engine.take());
    const second = await engine.take();
    expect(second.attempt).toBe(2);
    await engine.yields(second, 1, frame("H"), DONE);
    await engine.complete(second, []);
    expect(await client.rest()).toBe(frame("H") + DONE);
  });

  test("of the object is an event as well, and the job is cancelled", async ({ expect }) => {
    const engine = await Engine.start(api);
    const client = engine.ask(STREAMED);
    const job = await engine.take();
    await engine.yields(job, 1, frame("H"));
    expect(await client.next()).toBe(frame("H"));
    await kill(engine.endpointId);
    const rest = client.rest();
    await engine.yields(job, 2, frame("i"));
    await engine.complete(job, []);
    expect(await rest).toMatch(/^(data: .*"i".*\n\ndata: \[DONE\]|data: \{"error":.*\})\n\n$/);
  });
});

describe("a client that hangs up", () => {
  test("before the first chunk, and in the middle, has its job cancelled", async ({ expect }) => {
    const engine = await Engine.start(api);
    const early = engine.ask(STREAMED);
    const first = await engine.take();
    await channelOf(engine.endpointId, "stream:2");
    await early.disconnect();
    await engine.until(first.id, "CANCELLED");

    const late = engine.ask(STREAMED);
    const second = await engine.take();
    await engine.yields(second, 1, frame("H"));
    expect(await late.next()).toBe(frame("H"));
    await channelOf(engine.endpointId, "stream:3");
    await late.disconnect();
    await engine.until(second.id, "CANCELLED");
    const { stops } = await engine.agent.exchange(engine.endpointId);
    expect(stops.map(({ jobId }) => jobId)).toContain(second.id);
  });

  test("once the worker has said that it is done leaves the job its end", async ({ expect }) => {
    const engine = await Engine.start(api);
    const client = engine.ask(STREAMED);
    const job = await engine.take();
    await engine.yields(job, 1, frame("H") + DONE);
    expect(await client.next()).toBe(frame("H") + DONE);
    await channelOf(engine.endpointId, "stream:2");
    await client.disconnect();
    await engine.complete(job, ["H"]);
    expect(await engine.statusOf(job.id)).toBe("COMPLETED");
  });

  test("after the last chunk changes nothing", async ({ expect }) => {
    const engine = await Engine.start(api);
    const client = engine.ask(STREAMED);
    const job = await engine.take();
    await engine.yields(job, 1, frame("H"), DONE);
    await engine.complete(job, ["H"]);
    await client.rest();
    await client.disconnect();
    expect(await engine.statusOf(job.id)).toBe("COMPLETED");
  });
});
