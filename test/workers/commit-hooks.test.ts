import { describe, test } from "vitest";
import type { EndpointConfig } from "../../src/contract/endpoint.ts";
import {
  CommitHooks,
  HOOK_ORDER,
  type CommitHooksParts,
  type FeatureHooks,
  type FeatureName,
} from "../../src/endpoint/commit-hooks.ts";
import type { FleetNews } from "../../src/endpoint/facts/endpoint-facts.ts";
import type { QueueEffect } from "../../src/endpoint/queue/queue.ts";

const NOW = 1_800_000_000_000;
const CONFIG = { endpointId: "endpoint" } as EndpointConfig;
const EFFECTS: readonly QueueEffect[] = [
  { kind: "settled", seq: 1 },
  { kind: "requeued", seq: 2 },
  { kind: "stopHandler", seq: 3, hostId: "host", attempt: 1, reason: "cancelled" },
];

/** Hooks of all features that record their calls as `phase feature`. */
function recorded(parts: Partial<CommitHooksParts> = {}) {
  const calls: string[] = [];
  const hooksOf = (name: FeatureName): FeatureHooks => {
    const record = (phase: string) => (): void => void calls.push(`${phase} ${name}`);
    return {
      recover: record("recover"),
      learn: record("learn"),
      settle: record("settle"),
      jobSettled: record("jobSettled"),
      jobRequeued: record("jobRequeued"),
      handlerStopped: record("handlerStopped"),
      commit: record("commit"),
      send: record("send"),
      nextAt: () => {
        calls.push(`nextAt ${name}`);
        return name === "queue" ? NOW + 20 : NOW + 50;
      },
      sweep: record("sweep"),
      purged: record("purged"),
    };
  };
  const features = Object.fromEntries(HOOK_ORDER.map((name) => [name, hooksOf(name)]));
  const hooks = new CommitHooks({
    features: features as Record<FeatureName, FeatureHooks>,
    facts: { config: CONFIG },
    alarm: { armBy: (at) => calls.push(`alarm ${(at ?? 0) - NOW}`) },
    takeEffects: () => [],
    ...parts,
  });
  return { hooks, calls };
}

function inOrder(...phases: readonly string[]): readonly string[] {
  return phases.flatMap((phase) => HOOK_ORDER.map((name) => `${phase} ${name}`));
}

describe("hooks of features", () => {
  test("of one moment are called in the stated order", ({ expect }) => {
    const { hooks, calls } = recorded();
    hooks.recover(NOW);
    hooks.learn({} as FleetNews, NOW);
    hooks.sweep(NOW);
    hooks.purged(NOW);
    expect(calls).toEqual(inOrder("recover", "learn", "sweep", "purged"));
  });

  test("at the end of a turn follow up its work, then its effects, then write, then send, then arm", ({
    expect,
  }) => {
    const { hooks, calls } = recorded({ takeEffects: () => EFFECTS });
    hooks.finishTurn(NOW);
    const effects = inOrder("jobSettled", "jobRequeued", "handlerStopped");
    const rest = [...inOrder("commit", "send", "nextAt"), "alarm 20"];
    expect(calls).toEqual([...inOrder("settle"), ...effects, ...rest]);
  });

  test("apply the effects of what settling does in the same turn", ({ expect }) => {
    const effects: QueueEffect[] = [];
    const settled: number[] = [];
    const none = Object.fromEntries(HOOK_ORDER.map((name) => [name, {}])) as Record<
      FeatureName,
      FeatureHooks
    >;
    const { hooks } = recorded({
      features: {
        ...none,
        limits: { jobSettled: (seq) => void settled.push(seq) },
        batches: { settle: () => void effects.push({ kind: "settled", seq: 7 }) },
      },
      takeEffects: () => effects.splice(0),
    });
    hooks.finishTurn(NOW);
    expect(settled).toEqual([7]);
  });

  test("write and send nothing while the object knows no endpoint", ({ expect }) => {
    const { hooks, calls } = recorded({ facts: { config: undefined } });
    hooks.finishTurn(NOW);
    expect(calls).toEqual(inOrder("settle"));
  });

  test("keep the order on which features rely", ({ expect }) => {
    const isBefore = (first: FeatureName, second: FeatureName) =>
      HOOK_ORDER.indexOf(first) < HOOK_ORDER.indexOf(second);
    const pairs = [
      ["limits", "dispatch"],
      ["dispatch", "queue"],
      ["queue", "scaling"],
      ["loadBalancing", "scaling"],
      ["scaling", "metrics"],
      ["metrics", "checkpoint"],
      ["queue", "batches"],
    ] as const;
    for (const [first, second] of pairs) expect([first, second, isBefore(first, second)]).toContain(true);
  });
});
