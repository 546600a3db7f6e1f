import { beforeEach, describe, test } from "vitest";
import { FLAG_END, FRAME } from "../../src/link/link-frame.ts";
import { EdgeClient } from "./edge-client.ts";
import { answered, headOf, linkedEndpoint, readAll, text, WrittenBody } from "./link-client.ts";

const api = new EdgeClient();
const { signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);

const bytes = (content: string) => new TextEncoder().encode(content);

describe("a request", () => {
  test("reaches its worker as it is, and its answer comes back in one piece", async ({ expect }) => {
    const { link, workerId, forward } = await linkedEndpoint(api);
    const head = { method: "PURGE", target: "/a?b=c", headers: [["X-A", "1"] as [string, string]] };
    const reply = forward({ head: headOf(head) });
    const open = await link.open();
    expect(open).toMatchObject({ workerId, hasBody: false, head: { kind: "http", ...head } });
    link.answer(open.stream, "done");
    const answer = await answered(reply);
    expect(answer.workerId).toBe(workerId);
    expect(JSON.parse(text(answer.head))).toEqual({
      status: 200,
      statusText: "OK",
      headers: [["x-test", "1"]],
    });
    expect(answer.body).toBeInstanceOf(Uint8Array);
    expect(text(await readAll(answer.body))).toBe("done");
  });

  test("carries a small body in the message that opens it", async ({ expect }) => {
    const { link, forward } = await linkedEndpoint(api);
    const reply = forward({ body: bytes("hello") });
    const { stream, hasBody } = await link.open();
    expect(hasBody).toBe(true);
    expect(link.unread).toHaveLength(1);
    expect(text(await link.body(stream))).toBe("hello");
    link.send({ type: FRAME.HEAD, stream, flags: FLAG_END, payload: "{}" });
    expect((await answered(reply)).body).toBeNull();
  });

  test("streams its body, piece by piece", async ({ expect }) => {
    const { link, forward } = await linkedEndpoint(api);
    const body = new WrittenBody();
    const reply = forward({ body });
    const { stream } = await link.open();
    for (const piece of ["one", "two", "three"]) {
      void body.writer.write(bytes(piece));
      expect(text((await link.next(FRAME.DATA)).payload)).toBe(piece);
    }
    void body.writer.close();
    expect((await link.next(FRAME.DATA)).flags).toBe(FLAG_END);
    link.answer(stream, "");
    expect((await answered(reply)).body).toBeNull();
    expect(body.opened).toBe(1);
  });

  test("gets its answer chunk by chunk", async ({ expect }) => {
    const { link, forward } = await linkedEndpoint(api);
    const reply = forward();
    const { stream } = await link.open();
    link.head(stream);
    const { body } = await answered(reply);
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    for (const piece of ["one", "two", "three"]) {
      link.data(stream, piece);
      const { value } = await reader.read();
      expect(text(value ?? new Uint8Array())).toBe(piece);
    }
    link.end(stream);
    expect((await reader.read()).done).toBe(true);
  });

  test("may be answered while its body is still on its way", async ({ expect }) => {
    const { link, forward } = await linkedEndpoint(api);
    const body = new WrittenBody();
    const reply = forward({ body });
    const { stream } = await link.open();
    link.head(stream);
    const reader = ((await answered(reply)).body as ReadableStream<Uint8Array>).getReader();
    for (const piece of ["ping", "pong"]) {
      void body.writer.write(bytes(piece));
      expect(text((await link.next(FRAME.DATA)).payload)).toBe(piece);
      link.data(stream, piece);
      expect(text((await reader.read()).value ?? new Uint8Array())).toBe(piece);
    }
    void body.writer.close();
    expect((await link.next(FRAME.DATA)).flags).toBe(FLAG_END);
    link.end(stream);
    expect((await reader.read()).done).toBe(true);
  });
});
