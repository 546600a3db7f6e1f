import fc from "fast-check";
import { test } from "vitest";
import { readStartCommand, writeStartCommand } from "./start-command.ts";

test("a start command survives being written as dockerArgs", ({ expect }) => {
  fc.assert(
    fc.property(fc.array(fc.string()), fc.array(fc.string()), (entrypoint, command) => {
      expect(readStartCommand(writeStartCommand({ entrypoint, command }))).toEqual({ entrypoint, command });
    }),
  );
});

test.for([
  ["python -u 'my handler.py'", [], ["python", "-u", "my handler.py"]],
  ['{"cmd":["a b"]}', [], ["a b"]],
  ['{"entrypoint":["sh","-c"],"cmd":["x"]}', ["sh", "-c"], ["x"]],
  ['{"other":1}', [], ["{other:1}"]],
  ["python 'unclosed", [], ["python 'unclosed"]],
  ["", [], []],
])("%s is read as entrypoint %j and command %j", ([dockerArgs, entrypoint, command], { expect }) => {
  expect(readStartCommand(dockerArgs as string)).toEqual({ entrypoint, command });
});
