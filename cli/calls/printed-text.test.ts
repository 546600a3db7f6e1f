import { test } from "vitest";
import { readPrintedLine } from "./printed-text.ts";

test("a line is shown as it is", ({ expect }) => {
  expect(readPrintedLine("{ not JSON")).toEqual(["{ not JSON"]);
  expect(readPrintedLine('{"requestId": 1}')).toEqual(['{"requestId": 1}']);
});

test("the tag of a job is taken off, and files are those of the project", ({ expect }) => {
  const message = 'Traceback:\n  File "/app/sub/main.py", line 3, in hello\nValueError: no\n';
  expect(readPrintedLine(JSON.stringify({ requestId: "a", message, level: "ERROR" }))).toEqual([
    "Traceback:",
    '  File "sub/main.py", line 3, in hello',
    "ValueError: no",
  ]);
});
