import { test } from "vitest";
import { hasErrorCode } from "../../contract/errors.ts";
import { tunnelIdleMs } from "./idle-limit.ts";

test.for([
  [undefined, 1_800_000],
  ["", 1_800_000],
  ["1", 1_000],
  ["604800", 604_800_000],
] as const)("TUNNEL_IDLE_SECONDS %s is %s ms", ([TUNNEL_IDLE_SECONDS, expected], { expect }) => {
  expect(tunnelIdleMs({ ...(TUNNEL_IDLE_SECONDS !== undefined && { TUNNEL_IDLE_SECONDS }) })).toBe(expected);
});

test.for(["0", "-1", "604801", "30m", "NaN", "Infinity", "0.0005"])(
  "TUNNEL_IDLE_SECONDS %s is refused",
  (TUNNEL_IDLE_SECONDS, { expect }) => {
    let thrown: unknown;
    try {
      tunnelIdleMs({ TUNNEL_IDLE_SECONDS });
    } catch (error) {
      thrown = error;
    }
    expect(hasErrorCode(thrown, "not_configured")).toBe(true);
  },
);
