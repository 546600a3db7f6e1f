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
