import { test } from "vitest";
import { batchIdOf, decodeBatchId, optionsInBatch, packRequests, unpackRequests } from "./batch.ts";

const request = (text: string) => ({
  input: { kind: "inline", json: JSON.stringify(text) } as const,
  optionsJson: "{}",
  hasWebhook: false,
  isLowPriority: false,
  ttlMs: 1,
  executionTimeoutMs: null,
});

test("packs hold all requests in order, and none is larger than a row or a turn may be", ({ expect }) => {
  const requests = [
    ...Array.from({ length: 1_500 }, (_, index) => request(String(index))),
    ...Array.from({ length: 4 }, () => request('"\u0001é'.repeat(60_000))),
  ];
  const packs = packRequests(requests);
  expect(packs.flatMap(({ json }) => unpackRequests(json))).toEqual(requests);
  for (const { count, json } of packs) {
    expect(count).toBeLessThanOrEqual(1_000);
    expect(new TextEncoder().encode(json).byteLength).toBeLessThan(2_000_000);
  }
  expect(packRequests([])).toEqual([]);
});

test("a batch id finds its batch, and other text none", ({ expect }) => {
  const batch = { nonce: "0123456789abcdef0123", number: 437 };
  expect(batchIdOf(batch)).toBe("batch_0123456789abcdef01231b5");
  expect(decodeBatchId(batchIdOf(batch))).toEqual(batch);
  for (const text of ["batch_", "batch_0123", "0123456789abcdef01231b5", ""]) {
    expect(decodeBatchId(text)).toBeUndefined();
  }
});

test("the worker's options name the batch", ({ expect }) => {
  expect(JSON.parse(optionsInBatch("{}", "batch_1"))).toEqual({ batchId: "batch_1" });
  expect(JSON.parse(optionsInBatch('{"webhook":"https://a"}', "batch_1"))).toEqual({
    batchId: "batch_1",
    webhook: "https://a",
  });
});
