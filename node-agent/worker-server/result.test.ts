import { describe, test } from "vitest";
import { CHUNK_MAX_BYTES, RESULT_MAX_BYTES } from "../../src/contract/limits.ts";
import { POST_MAX_BYTES, readChunk, readResult } from "./result.ts";

const body = (text: string, sizeBytes = Buffer.byteLength(text)) => ({ bytes: Buffer.from(text), sizeBytes });

describe("a body posted to job-done", () => {
  test("with an output is a completion", ({ expect }) => {
    expect(readResult(body('{"output":{"a":1}}'))).toEqual({
      kind: "completed",
      output: '{"a":1}',
      wantsRefresh: false,
    });
    expect(readResult(body("{}"))).toMatchObject({ kind: "completed", output: undefined });
    expect(readResult(body('{"output":null,"error":""}'))).toMatchObject({
      kind: "completed",
      output: "null",
    });
  });

  test("with an error is a failure and keeps the rest of the output", ({ expect }) => {
    expect(readResult(body('{"output":{"seen":3},"error":"out of memory"}'))).toMatchObject({
      kind: "failed",
      error: "out of memory",
      output: '{"seen":3}',
    });
  });

  test("with an error that is no string is a failure with its JSON text", ({ expect }) => {
    expect(readResult(body('{"error":{"code": 7.0}}'))).toMatchObject({
      kind: "failed",
      error: '{"code": 7.0}',
    });
  });

  test.for(["0", "-0.0", "0E5", "false", "null", '""', "[]", "{ }"])(
    "with the error %s is no failure: it is what Python takes for no error",
    (error, { expect }) => {
      expect(readResult(body(`{"output":1,"error":${error}}`))).toMatchObject({
        kind: "completed",
        output: "1",
      });
    },
  );

  test("with status IN_PROGRESS is progress, not a result", ({ expect }) => {
    expect(readResult(body('{"status":"IN_PROGRESS","output":"half"}'))).toEqual({
      kind: "progress",
      output: '"half"',
    });
  });

  test("may ask for a fresh container", ({ expect }) => {
    expect(readResult(body('{"output":1,"stopPod":true}'))).toMatchObject({ wantsRefresh: true });
  });

  test("that is not JSON is a failure that says so, as with Python's NaN", ({ expect }) => {
    expect(readResult(body('{"output": NaN}'))).toMatchObject({ kind: "failed" });
    expect(readResult(body(""))).toMatchObject({ kind: "failed" });
    expect(readResult(body("[1]"))).toMatchObject({ kind: "failed" });
  });

  test("keeps a large output as the text that it is", ({ expect }) => {
    const output = `[ 1.0, "${"é".repeat(400_000)}"]`;
    const posted = readResult(body(`{"stopPod":false,"output": ${output} ,"error":null}`));
    expect(posted).toEqual({ kind: "completed", output, wantsRefresh: false });
  });

  test("may have an output up to the limit, and one byte more is a failure that names both sizes", ({
    expect,
  }) => {
    const ofSize = (sizeBytes: number) => body(`{"output":"${"x".repeat(sizeBytes - 2)}"}`);
    expect(readResult(ofSize(RESULT_MAX_BYTES))).toMatchObject({ kind: "completed" });
    expect(readResult(ofSize(RESULT_MAX_BYTES + 1))).toMatchObject({
      kind: "failed",
      error: expect.stringMatching(/\b20000001\b.*\b20000000\b/),
    });
  });

  test("far above the limit is judged by its start and its size", ({ expect }) => {
    const posted = readResult(body('{"output":"xxx', POST_MAX_BYTES + 1));
    expect(posted).toMatchObject({ kind: "failed", error: expect.stringContaining("21000001") });
    expect(readResult(body('{"status": "IN_PROGRESS", "out', POST_MAX_BYTES + 1)).kind).toBe("progress");
  });
});

describe("a body posted to job-stream", () => {
  test("is the JSON text of its output", ({ expect }) => {
    expect(readChunk(body('{"output": {"token": "é"}}'))).toEqual({
      kind: "chunks",
      outputs: ['{"token": "é"}'],
    });
  });

  test("is cut into several when it is a long text, never inside a character", ({ expect }) => {
    const text = `x${"\u{1f600}\n\u0001".repeat(300_000)}`;
    const posted = readChunk(body(JSON.stringify({ output: text })));
    const outputs = posted.kind === "chunks" ? posted.outputs : [];
    expect(outputs.map((json) => JSON.parse(json) as string).join("")).toBe(text);
    expect(Math.max(...outputs.map((json) => Buffer.byteLength(json)))).toBeLessThan(CHUNK_MAX_BYTES);
    expect(outputs.filter((json) => /\\u[dD][89a-fA-F]/.test(json))).toEqual([]);
  });

  test("keeps its escapes as they were written when it is cut", ({ expect }) => {
    const inner = `x${String.raw`\ud83d\ude00\u00E9\/\\\"\n\ud800é`.repeat(50_000)}`;
    const posted = readChunk(body(`{"output":"${inner}"}`));
    const outputs = posted.kind === "chunks" ? posted.outputs : [];
    expect(outputs.length).toBeGreaterThan(1);
    expect(outputs.map((json) => json.slice(1, -1)).join("") === inner).toBe(true);
    for (const json of outputs) {
      expect(JSON.parse(json)).toBeTypeOf("string");
      expect(json).not.toMatch(/^"\\ude00/);
    }
  });

  test("is a failure when it is large and no text, or no JSON", ({ expect }) => {
    const large = JSON.stringify({ output: ["x".repeat(CHUNK_MAX_BYTES)] });
    expect(readChunk(body(large))).toMatchObject({ error: expect.stringContaining("1000004") });
    expect(readChunk(body('{"output": NaN}'))).toMatchObject({ kind: "failed" });
  });
});
