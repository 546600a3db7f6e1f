import { test } from "vitest";
import { until } from "../support/until.ts";

test("returns the first truthy value, of a synchronous or an asynchronous look", async ({ expect }) => {
  let looks = 0;
  expect(await until(() => (looks += 1) === 3 && "there", "the third look")).toBe("there");
  expect(await until(() => Promise.resolve(7), "a number")).toBe(7);
});

test("goes on after an error", async ({ expect }) => {
  let looks = 0;
  const look = () => {
    looks += 1;
    if (looks < 3) throw new Error("refused");
    return looks;
  };
  expect(await until(look, "an answer")).toBe(3);
});

test.for([
  ["the last value", () => Promise.resolve(0), "; last seen: 0"],
  ["the last error", () => Promise.reject(new Error("refused")), "; last seen: Error: refused"],
  ["a look that never ends", () => new Promise(() => {}), "; last seen: no call of it has ended"],
] as const)(
  "after the deadline it fails with what it waited for and %s",
  async ([, look, end], { expect }) => {
    await expect(until<unknown>(look, "a ready worker", 120)).rejects.toThrow(
      `Waited 120 ms for a ready worker${end}`,
    );
  },
);
