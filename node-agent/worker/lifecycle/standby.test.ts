import { test } from "vitest";
import { Container, type ContainerOptions } from "./container.ts";
import { Notifier } from "../../core/notifier.ts";
import type { Assignment } from "../../../src/contract/agent/agent.ts";
import { Standby } from "./standby.ts";

const ASSIGNMENT = { workerId: "w", endpointId: "e", type: "QB", env: {} } as unknown as Assignment;

/** The standby of a worker, and how often its container was frozen. */
function newStandby() {
  const frozen: string[] = [];
  const log = { info() {}, warn() {} };
  const runtime = { freeze: async (workerId: string) => void frozen.push(workerId) };
  const container = new Container(
    ASSIGNMENT,
    { runtime, log } as unknown as ContainerOptions,
    new Notifier(),
    undefined,
  );
  const standby = new Standby({ workerId: "w", container, log } as never);
  standby.setRequested(true);
  return { standby, frozen };
}

test("a container is frozen once nothing of clients is left in it, and takes no work meanwhile", async ({
  expect,
}) => {
  const { standby, frozen } = newStandby();
  const left = Promise.withResolvers<void>();
  const moved = standby.move("freeze", { before: () => left.promise, after() {} });
  standby.setRequested(false);
  await Promise.resolve();
  expect([standby.isOn, standby.isFrozen, frozen]).toEqual([true, true, []]);
  left.resolve();
  expect(await moved).toBe(true);
  expect([standby.isOn, standby.isFrozen, frozen]).toEqual([true, true, ["w"]]);
});

test("a container in which something does not end is not frozen", async ({ expect }) => {
  const { standby, frozen } = newStandby();
  const before = () => Promise.reject(new Error("It does not end."));
  expect(await standby.move("freeze", { before, after() {} })).toBe(false);
  expect([standby.error, standby.isFrozen, frozen]).toEqual(["It does not end.", false, []]);
});
