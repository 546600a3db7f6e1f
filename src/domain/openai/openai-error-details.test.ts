import fc from "fast-check";
import { describe, test } from "vitest";
import { ERRORS, QUEUE_ERROR_CODES } from "../../contract/errors.ts";
import { openaiErrorSchema } from "../../contract/openai.ts";
import {
  errorBodyOf,
  errorOfCode,
  errorOfJob,
  errorOfString,
  errorInOutput,
} from "./openai-error-details.ts";

const said = (message: string, members = {}) => ({
  message,
  type: "server_error",
  param: null,
  code: null,
  ...members,
});

describe("the error text of a worker", () => {
  test.for<[what: string, text: string, status: number, error: object]>([
    [
      "a dict, as text",
      `{'message': 'no', 'type': 'BadRequestError', 'param': None, 'code': 400}`,
      400,
      said("no", { type: "BadRequestError", code: 400 }),
    ],
    [
      "a dict within a dict",
      `{'error': {'message': "it's", 'type': 't', 'param': 'n', 'code': '404'}}`,
      404,
      said("it's", { type: "t", param: "n", code: "404" }),
    ],
    [
      "JSON",
      `{"message":"no","type":"invalid_request_error"}`,
      400,
      said("no", { type: "invalid_request_error" }),
    ],
    ["a status that is none", `{'message': 'no', 'code': 200}`, 500, said("no", { code: 200 })],
    [
      "a code that is a word",
      `{'message': 'no', 'type': 't', 'code': 'context_length_exceeded'}`,
      500,
      said("no", { type: "t", code: "context_length_exceeded" }),
    ],
    [
      "an exception in a generator",
      'handler: no GPU \ntraceback: Traceback (most recent call last):\n  File "handler.py"',
      500,
      said("no GPU"),
    ],
    [
      "an exception in a function",
      `{"error_type": "<class 'ValueError'>", "error_message": "no", "error_traceback": "…"}`,
      500,
      said("no"),
    ],
    [
      "the status of an engine behind it",
      `{'message': 'vLLM returned HTTP 503: busy', 'type': 'worker_error', 'code': None}`,
      503,
      said("vLLM returned HTTP 503: busy", { type: "worker_error" }),
    ],
    [
      "the error of an engine behind it",
      `{'message': 'vLLM returned HTTP 400: {"error":{"message":"too long","type":"BadRequestError","param":"n","code":400}}', 'type': 'worker_error', 'code': None}`,
      400,
      said("too long", { type: "BadRequestError", param: "n", code: 400 }),
    ],
    [
      "a status in words",
      "Request to /v1/models failed with status 404",
      404,
      said("Request to /v1/models failed with status 404", { type: "invalid_request_error" }),
    ],
    ["words", "The worker was lost 2 times.", 500, said("The worker was lost 2 times.")],
    ["a dict without a message", "{'a': 1}", 500, said("{'a': 1}")],
  ])("may be %s", ([, text, status, error], { expect }) => {
    const details = errorOfString(text);
    expect({ status: details.status, ...errorBodyOf(details) }).toEqual({ status, error });
    expect(details.isRetryable).toBe(status === 429 || status === 503);
  });

  test("is always an error that clients can read", ({ expect }) => {
    const anyText = fc.oneof(
      fc.string(),
      fc.json(),
      fc.json().map((json) => `{"error": ${json}}`),
      fc.json().map((json) => `{'message': ${json}, 'code': ${json}, 'type': ${json}}`),
    );
    fc.assert(
      fc.property(anyText, (text) => {
        const details = errorOfString(text);
        expect(openaiErrorSchema.safeParse(errorBodyOf(details)).error).toBeUndefined();
        expect(details.status >= 400 && details.status <= 599).toBe(true);
      }),
    );
  });
});

test("a type that every object has by inheritance is no known one", ({ expect }) => {
  for (const type of ["__proto__", "constructor", "toString"]) {
    expect(errorInOutput({ error: { message: "no", type } })).toMatchObject({ status: 500, type });
  }
});

test("a traceback and the blank lines before it are left out", ({ expect }) => {
  const { message } = errorOfString(
    `handler: no \n \n traceback: Traceback (most recent call last):\n  File`,
  );
  expect(message).toBe("no");
});

test("an output is an error if it says so, and nothing else is", ({ expect }) => {
  expect(errorInOutput({ error: { message: "no", code: 404 } })?.status).toBe(404);
  expect(errorInOutput({ object: "error", message: "no", code: 400 })?.status).toBe(400);
  expect(errorInOutput({ error: "failed with status 404" })?.status).toBe(404);
  for (const output of [
    "text",
    null,
    [],
    { error: null },
    { error: "" },
    { object: "list", data: [] },
    { error: {} },
  ]) {
    expect(errorInOutput(output), JSON.stringify(output)).toBeUndefined();
  }
});

test("every error of the edge has OpenAI's shape and its own status", ({ expect }) => {
  for (const code of QUEUE_ERROR_CODES) {
    const details = errorOfCode(code, "message");
    expect(details.status).toBe(ERRORS[code].status);
    expect(openaiErrorSchema.safeParse(errorBodyOf(details)).success).toBe(true);
  }
});

test("each end of a job without an output has an error of its own", ({ expect }) => {
  const codes = (["TIMED_OUT", "CANCELLED", "FAILED"] as const).map((status) => errorOfJob({ status }));
  expect(codes.map(({ status, code }) => [status, code])).toEqual([
    [504, "job_timed_out"],
    [409, "job_cancelled"],
    [500, null],
  ]);
});
