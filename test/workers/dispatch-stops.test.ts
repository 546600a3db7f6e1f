import { expect, test } from "vitest";
import type { ExchangeCall } from "../../src/endpoint/messages.ts";
import { AgentCalls } from "../../src/endpoint/dispatch/agent-calls.ts";

const STOP = "job-1#1";

function call(turn: number, openTurns: readonly number[] = []): ExchangeCall {
  return {
    ...{ hostId: "host", session: "session", turn, openTurns, isWaiting: false },
    ...{ slots: [], running: [], reports: [], chunks: [] },
  };
}

test("a stop is sent again when its answer is over and the job is still listed", () => {
  const calls = new AgentCalls();
  expect(calls.isNewStop(call(1), STOP)).toBe(true);
  expect(calls.isNewStop(call(1), STOP)).toBe(false);
  expect(calls.isNewStop(call(2, [1]), STOP)).toBe(false);
  expect(calls.isNewStop(call(3), STOP)).toBe(true);
});

test("a stop of a job that stays listed is sent a few times at most", () => {
  const calls = new AgentCalls();
  const turns = Array.from({ length: 20 }, (_, index) => index + 1);
  const sent = turns.filter((turn) => calls.isNewStop(call(turn), STOP));
  expect(sent).toHaveLength(4);
});
