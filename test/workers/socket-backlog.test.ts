import { test } from "vitest";
import { FRAME } from "../../src/link/link-frame.ts";
import { WindowBudget } from "../../src/link/link-window.ts";
import { SocketBacklog, WEBSOCKET_BACKLOG_MAX_BYTES } from "../../src/forwarding/socket-buffers.ts";

const message = (bytes: number) => ({ type: FRAME.BINARY, bytes: new Uint8Array(bytes) });

/** A backlog whose agent gives no credit. */
function withoutCredit(budget = new WindowBudget(Infinity)): SocketBacklog {
  return new SocketBacklog(() => undefined, budget, 0);
}

test("one message may wait whatever its size, another only within the limit", ({ expect }) => {
  const backlog = withoutCredit();
  expect(backlog.add(message(WEBSOCKET_BACKLOG_MAX_BYTES + 1))).toBe(true);
  expect(backlog.add(message(1))).toBe(false);
});

test("messages may wait until they fill the limit", ({ expect }) => {
  const backlog = withoutCredit();
  expect(backlog.add(message(1))).toBe(true);
  expect(backlog.add(message(WEBSOCKET_BACKLOG_MAX_BYTES - 1))).toBe(true);
  expect(backlog.add(message(1))).toBe(false);
});

test("what is dropped is given back to the budget of all WebSockets", ({ expect }) => {
  const budget = new WindowBudget(10);
  const backlog = withoutCredit(budget);
  expect(backlog.add(message(11))).toBe(false);
  backlog.drop();
  expect(budget.take(20)).toBe(10);
});
