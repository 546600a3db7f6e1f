import fc from "fast-check";
import { test } from "vitest";
import { isStartCommand, readStartCommand, writeStartCommand } from "./start-command.ts";

test("a start command survives being written as dockerArgs", ({ expect }) => {
  fc.assert(
    fc.property(fc.array(fc.string()), fc.array(fc.string()), (entrypoint, command) => {
      expect(readStartCommand(writeStartCommand({ entrypoint, command }))).toEqual({ entrypoint, command });
    }),
  );
});

test("one with an open quote is no start command, unless it is in an object", ({ expect }) => {
  expect(["sh -c 'x'", `{"cmd":["it's"]}`, "", "sh -c 'x", 'a "b', "it's"].map(isStartCommand)).toEqual([
    ...[true, true, true],
    ...[false, false, false],
  ]);
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
