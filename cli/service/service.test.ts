import { once } from "node:events";
import { test } from "vitest";
import { withinMs } from "./service.ts";

test("it aborts after the limit", async ({ expect }) => {
  const limited = withinMs(1, new AbortController().signal);
  await once(limited, "abort");
  expect(limited.reason).toMatchObject({ name: "TimeoutError" });
});

test("it aborts with the signal, for its reason", ({ expect }) => {
  const stopped = new AbortController();
  const limited = withinMs(60_000, stopped.signal);
  stopped.abort(new Error("stopped"));
  expect(limited.reason).toEqual(new Error("stopped"));
});
