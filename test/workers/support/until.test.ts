import { test } from "vitest";
import { notYet, until } from "./until.ts";

test("says what was awaited and what was seen last when the time is over", async ({ expect }) => {
  let looks = 0;
  const look = () => notYet({ looks: (looks += 1) });
  const error = await until(look, "it is there", 20).catch(String);
  expect(error).toContain("it is there");
  expect(error).toContain(`{"looks":${looks}}`);
  expect(looks).toBeGreaterThan(1);
});

test("looks again after a failed assertion, and passes other errors on", async ({ expect }) => {
  let looks = 0;
  const value = await until(() => {
    looks += 1;
    expect(looks).toBe(3);
    return looks;
  }, "three looks");
  expect(value).toBe(3);
  const broken = () => {
    throw new TypeError("broken");
  };
  await expect(until(broken, "nothing")).rejects.toThrow(TypeError);
});
