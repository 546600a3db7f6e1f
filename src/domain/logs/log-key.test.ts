import { test } from "vitest";
import { daysBack, firstRetainedDay, keyBefore, logKey, readLogKey } from "./log-key.ts";

const owner = { accountId: "account", endpointId: "endpoint" };
const at = (time: string): number => Date.parse(time) * 1_000;

test("a key describes the content of its object", ({ expect }) => {
  const object = {
    workerId: "worker-1_a",
    first: at("2026-11-21T10:00:00Z"),
    last: at("2026-11-21T10:01:00Z"),
  };
  const key = logKey(owner, object);
  expect(key).toMatch(/^2026-11-21\/account\/endpoint\/\d{16}-\d{16}-worker-1_a$/);
  expect(readLogKey(key)).toEqual(object);
  expect(readLogKey("2026-11-21/account/endpoint/else")).toBeUndefined();
});

test("within a day the newest comes first, and a list can begin at any time", ({ expect }) => {
  const keys = ["08", "12", "10"].map((hour) => {
    const time = at(`2026-11-21T${hour}:00:00Z`);
    return logKey(owner, { workerId: "w", first: time, last: time });
  });
  const [early, late, middle] = keys;
  expect(keys.toSorted()).toEqual([late, middle, early]);
  const begin = keyBefore(owner, "2026-11-21", at("2026-11-21T10:00:00Z"));
  expect(keys.filter((key) => key > begin).toSorted()).toEqual([middle, early]);
});

test("days are counted back, the first and the last included", ({ expect }) => {
  const days = daysBack(at("2026-03-01T00:00:00Z"), at("2026-02-27T23:59:59Z"));
  expect([...days]).toEqual(["2026-03-01", "2026-02-28", "2026-02-27"]);
  expect([...daysBack(at("2026-03-01T00:00:00Z"), at("2026-03-02T00:00:00Z"))]).toEqual([]);
  expect(daysBack(at("9999-12-31T00:00:00Z"), 0).next().value).toBe("9999-12-31");
  expect(firstRetainedDay(Date.parse("2026-03-15T12:00:00Z"), 14)).toBe("2026-03-01");
});
