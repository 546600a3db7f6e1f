import { expect, test } from "vitest";
import { handlerFiles } from "./app-files.ts";

const queue = { is_load_balanced: false, functions: [] };

test("each queue-based endpoint with code in the artifact has a handler", () => {
  const resources = {
    "gpu-worker": queue,
    api: { ...queue, is_load_balanced: true },
    vllm: { ...queue, client_mode: true },
    a_1: queue,
  };
  const files = handlerFiles({ resources });
  expect(files.map(({ path }) => path)).toEqual(["handler_a_1.py", "handler_gpu-worker.py"]);
  expect(files[1]?.text).toContain('handler = queue_handler("gpu-worker")');
});

test.each(['x"); import os; ("', "../x", "a b", "", "é", "_x", "a\nb"])(
  "an endpoint called %j makes no file",
  (name) => {
    expect(() => handlerFiles({ resources: { [name]: queue } })).toThrowErrorMatchingSnapshot();
  },
);
