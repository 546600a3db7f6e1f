import { PassThrough } from "node:stream";
import { test } from "vitest";
import { StatusLine } from "./status-line.ts";

test("frequent updates are drawn once per frame", ({ expect }) => {
  const stream = new PassThrough();
  const line = new StatusLine(stream);
  const packing = {};
  for (let file = 0; file < 1_000; file += 1) line.show(packing, `Packing ${file}`);
  line.hide(packing);
  const shown = String(stream.read());
  expect(shown).toContain("Packing 0");
  expect(shown.split("Packing")).toHaveLength(2);
});

test("each of several messages has a row, and all of them are cleared", ({ expect }) => {
  const stream = new PassThrough();
  const line = new StatusLine(stream);
  const [first, second] = [{}, {}];
  line.show(first, "first");
  line.show(second, "second");
  const drawn = String(stream.read());
  expect(drawn.endsWith("⠹ first\n⠹ second")).toBe(true);
  line.around(() => stream.write("done\n"));
  expect(String(stream.read())).toContain("\r\u001B[1A\u001B[Jdone\n");
  line.end();
});
