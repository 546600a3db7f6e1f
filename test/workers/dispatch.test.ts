import { test } from "vitest";
import type { ExchangeCall } from "../../src/endpoint/messages.ts";
import { Dispatch } from "../../src/endpoint/dispatch/dispatch.ts";

const SEQ = 7;
const CLAIMED_AT = 1_000;
const LEASE = { seq: SEQ, startedAt: CLAIMED_AT };

function callOf(turn: number, openTurns: readonly number[], session = "s1"): ExchangeCall {
  const lists = { openTurns, running: [], reports: [], chunks: [], slots: [] };
  return { hostId: "h1", session, turn, isWaiting: false, ...lists };
}

function delivering(turn: number): Dispatch {
  const dispatch = new Dispatch();
  dispatch.delivering(SEQ, callOf(turn, []));
  return dispatch;
}

test("a job that its agent does not list is undelivered once the reply that carries it is closed", ({
  expect,
}) => {
  const dispatch = delivering(2);
  expect(dispatch.isUndelivered(LEASE, callOf(2, []))).toBe(false); // this very reply
  expect(dispatch.isUndelivered(LEASE, callOf(3, [2]))).toBe(false);
  expect(dispatch.isUndelivered(LEASE, callOf(3, []))).toBe(true);
  expect(dispatch.isUndelivered(LEASE, callOf(1, [], "s2"))).toBe(true);
});

test("a job is being delivered as long as the reply that carries it is open", ({ expect }) => {
  const dispatch = delivering(2);
  expect(dispatch.isBeingDelivered(SEQ, callOf(3, [2]))).toBe(true);
  expect(dispatch.isBeingDelivered(SEQ, callOf(3, []))).toBe(false);
  expect(dispatch.isBeingDelivered(SEQ, callOf(3, [2], "s2"))).toBe(false);
});

test("a job that has arrived is no longer bound to the reply that carried it", ({ expect }) => {
  const dispatch = delivering(2);
  dispatch.arrived(SEQ, callOf(3, []));
  expect(dispatch.isBeingDelivered(SEQ, callOf(3, [2]))).toBe(false);
});

test("without memory of the reply, a call proves that a job is lost if it knows of a later one and no open one is unknown", ({
  expect,
}) => {
  const dispatch = new Dispatch();
  const isUndelivered = (call: ExchangeCall, newestReplyAt?: number): boolean => {
    dispatch.callsOf(call.hostId).take(call);
    return dispatch.isUndelivered(LEASE, { ...call, newestReplyAt });
  };
  expect(isUndelivered(callOf(3, []))).toBe(false); // made before the job came, perhaps
  expect(isUndelivered(callOf(4, []), CLAIMED_AT)).toBe(false);
  expect(isUndelivered(callOf(6, [5]), CLAIMED_AT + 1)).toBe(false); // that reply may bring it
  expect(isUndelivered(callOf(7, [6]), CLAIMED_AT + 1)).toBe(true);
  expect(isUndelivered(callOf(1, [], "s2"))).toBe(false);
  expect(isUndelivered(callOf(2, [], "s2"), CLAIMED_AT + 1)).toBe(true); // the agent has started again
});

test("without memory of the reply, copies of calls that come in a wrong order prove nothing", ({
  expect,
}) => {
  const dispatch = new Dispatch();
  for (const call of [callOf(39, [38]), callOf(40, [39])]) {
    dispatch.callsOf(call.hostId).take(call);
    const late = { ...call, newestReplyAt: CLAIMED_AT - 1 };
    expect(dispatch.isUndelivered(LEASE, late)).toBe(false);
  }
});

test("a call of the same session that was overtaken is not the newest", ({ expect }) => {
  const dispatch = new Dispatch();
  expect(dispatch.callsOf("h1").take(callOf(2, []))).toBe(true);
  expect(dispatch.callsOf("h1").take(callOf(1, []))).toBe(false);
  expect(dispatch.callsOf("h1").take(callOf(1, [], "s2"))).toBe(true);
});

test("a call of a process that the agent says is over comes late, however high its turn is", ({ expect }) => {
  const dispatch = new Dispatch();
  const isNewest = (call: ExchangeCall): boolean => {
    return dispatch.callsOf(call.hostId).take(call);
  };
  expect(isNewest(callOf(2, []))).toBe(true);
  expect(isNewest({ ...callOf(1, [], "s2"), previousSession: "s1" })).toBe(true);
  expect(dispatch.callsOf("h1").isNewSession(callOf(3, []))).toBe(false);
  expect(isNewest(callOf(3, []))).toBe(false);
  expect(isNewest({ ...callOf(2, [], "s2"), previousSession: "s1" })).toBe(true);
  expect(dispatch.callsOf("h1").isNewStop(callOf(3, []), "job")).toBe(false);
});

test("what the agent's process before had, the next one has at once or never, whatever replies are open", ({
  expect,
}) => {
  const dispatch = new Dispatch();
  const isUndelivered = (call: ExchangeCall): boolean => {
    dispatch.callsOf(call.hostId).take(call);
    return dispatch.isUndelivered(LEASE, call);
  };
  expect(isUndelivered(callOf(3, [2]))).toBe(false);
  dispatch.arrived(SEQ, callOf(3, [2]));
  expect(isUndelivered(callOf(4, [2]))).toBe(false);
  expect(isUndelivered(callOf(2, [1], "s2"))).toBe(false); // perhaps a late one
  expect(isUndelivered({ ...callOf(3, [1], "s2"), previousSession: "s1" })).toBe(true);
  dispatch.arrived(SEQ, callOf(3, [1], "s2"));
  expect(isUndelivered({ ...callOf(4, [1], "s2"), previousSession: "s1" })).toBe(false);
  expect(isUndelivered({ ...callOf(2, [1], "s4"), previousSession: "s3" })).toBe(false); // s3 has never called
  const later = { newestReplyAt: CLAIMED_AT + 1 };
  expect(isUndelivered({ ...callOf(3, [1], "s4"), previousSession: "s3", ...later })).toBe(true);
});
