import { test } from "vitest";
import { readLine } from "./worker-output.ts";

test("a line is shown as it is", ({ expect }) => {
  expect(readLine("{ not JSON")).toEqual(["{ not JSON"]);
  expect(readLine('{"requestId": 1}')).toEqual(['{"requestId": 1}']);
});

test("the tag of a job is taken off, and files are those of the project", ({ expect }) => {
  const message = 'Traceback:\n  File "/app/sub/main.py", line 3, in hello\nValueError: no\n';
  expect(readLine(JSON.stringify({ requestId: "a", message, level: "ERROR" }))).toEqual([
    "Traceback:",
    '  File "sub/main.py", line 3, in hello',
    "ValueError: no",
  ]);
});
