import { test } from "vitest";
import { ServiceError } from "../../src/contract/errors.ts";
import {
  waitLimitMs,
  readAffinity,
  LOAD_BALANCED_WAIT_MS,
  LOAD_BALANCED_STRICT_WAIT_MS,
} from "../../src/gateway/load-balancing/affinity.ts";

const read = (value: string) => readAffinity(new Headers({ "X-Runpod-Worker-Id": value }));

test("a worker can be preferred, required, or required and resumed", ({ expect }) => {
  expect(readAffinity(new Headers())).toBeNull();
  expect(read("")).toBeNull();
  expect(read("w-1")).toEqual({ mode: "soft", workerId: "w-1" });
  expect(read(" strict  w-1 ")).toEqual({ mode: "strict", workerId: "w-1" });
  expect(read("strict-resume w-1")).toEqual({ mode: "resume", workerId: "w-1" });
});

test("any other value is rejected, with the name of the header", ({ expect }) => {
  for (const value of ["strict", "strict-resume ", "a b", "strict a b", "w/1", "STRICT w", "x".repeat(129)]) {
    expect(() => read(value), value).toThrow(ServiceError);
    expect(() => read(value), value).toThrow("X-Runpod-Worker-Id");
  }
});

test("a request for one particular worker waits longer", ({ expect }) => {
  expect(waitLimitMs(null)).toBe(LOAD_BALANCED_WAIT_MS);
  expect(waitLimitMs(read("w"))).toBe(LOAD_BALANCED_WAIT_MS);
  expect(waitLimitMs(read("strict w"))).toBe(LOAD_BALANCED_STRICT_WAIT_MS);
  expect(waitLimitMs(read("strict-resume w"))).toBe(LOAD_BALANCED_STRICT_WAIT_MS);
});
