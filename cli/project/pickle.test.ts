import { test } from "vitest";
import { readPickle, writePickle } from "./pickle.ts";

const VALUE = {
  "QB:gpu_worker": { id: "x", sizes: [1, -5, 70_000], isLive: true, note: "ü", nothing: null },
};

test("what is written is read again", ({ expect }) => {
  expect(readPickle(writePickle(VALUE))).toEqual(VALUE);
});

test("what Python writes with protocol 2 is read", ({ expect }) => {
  // pickle.dumps({"a": ["x", "x", 1, 300, True, None]}, 2)
  const bytes = "80027d710058010000006171015d710228580100000078710368034b014d2c01884e65732e";
  expect(readPickle(Buffer.from(bytes, "hex"))).toEqual({ a: ["x", "x", 1, 300, true, null] });
});

test("a pickle that would run something is rejected before anything runs", ({ expect }) => {
  // pickle.dumps of an object whose __reduce__ names os.system
  const hostile = Buffer.from("80026e740a73797374656d0a710058020000006c73710185710252710369", "hex");
  expect(() => readPickle(hostile)).toThrowErrorMatchingInlineSnapshot(
    `[Error: it holds the instruction 0x6e, which no plain value needs]`,
  );
  expect(() => readPickle(Buffer.from("8002636f730a73797374656d0a2e", "hex"))).toThrow("0x63");
});

test("a pickle that is truncated or of a later protocol is rejected", ({ expect }) => {
  expect(() => readPickle(writePickle(VALUE).subarray(0, -3))).toThrowErrorMatchingInlineSnapshot(
    `[Error: it is truncated]`,
  );
  expect(() => readPickle(Buffer.from([0x80, 4, 0x4e, 0x2e]))).toThrowErrorMatchingInlineSnapshot(
    `[Error: it is of protocol 4]`,
  );
});
