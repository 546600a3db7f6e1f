import { PassThrough } from "node:stream";
import { test } from "vitest";
import { StatusLine } from "./status-line.ts";

test("a thing that tells of itself often is drawn with the frames, and not each time", ({ expect }) => {
  const stream = new PassThrough();
  const line = new StatusLine(stream);
  const packing = {};
  for (let file = 0; file < 1_000; file += 1) line.show(packing, `Packing ${file}`);
  line.hide(packing);
  const shown = String(stream.read());
  expect(shown).toContain("Packing 0");
  expect(shown.split("Packing")).toHaveLength(2);
});
