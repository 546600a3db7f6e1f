import fc from "fast-check";
import { describe, test } from "vitest";
import {
  ReceiveWindow,
  SendWindow,
  WindowBudget,
  LINK_WINDOW_BYTES,
  LINK_WINDOW_MAX_BYTES,
} from "./link-window.ts";

const BUDGET = 3 * LINK_WINDOW_BYTES;

/** A sender and a receiver that hand each other bytes and credit, at times of their own. */
class Transfer {
  readonly send = new SendWindow();
  readonly receive: ReceiveWindow;
  onTheirWay: number[] = [];
  creditOnItsWay: number[] = [];
  unread = 0;

  constructor(budget: WindowBudget) {
    this.receive = new ReceiveWindow(budget);
  }

  get outstanding(): number {
    return this.unread + this.onTheirWay.reduce((sum, bytes) => sum + bytes, 0);
  }

  /** All that may be sent, up to so much. */
  write(bytes: number): void {
    const sent = Math.min(bytes, this.send.open);
    if (sent <= 0) return;
    this.send.sent(sent);
    this.onTheirWay.push(sent);
  }

  /** Whether there was credit for what arrived. */
  arrive(): boolean {
    const bytes = this.onTheirWay.shift() ?? 0;
    this.unread += bytes;
    return this.receive.received(bytes);
  }

  read(bytes: number): void {
    const read = Math.min(bytes, this.unread);
    this.unread -= read;
    const credit = this.receive.consumed(read);
    if (credit > 0) this.creditOnItsWay.push(credit);
  }

  credit(): void {
    this.send.credited(this.creditOnItsWay.shift() ?? 0);
  }

  settle(): void {
    while (this.onTheirWay.length > 0) this.arrive();
    this.read(this.unread);
    while (this.creditOnItsWay.length > 0) this.credit();
  }
}

const step = fc.record({
  of: fc.nat(2),
  does: fc.constantFrom("write", "arrive", "read", "credit"),
  bytes: fc.integer({ min: 1, max: LINK_WINDOW_MAX_BYTES }),
});
const steps = fc.array(step, { maxLength: 200 });

function take(
  transfers: readonly Transfer[],
  { of, does, bytes }: { of: number; does: string; bytes: number },
) {
  const transfer = transfers[of];
  if (does === "write") transfer?.write(bytes);
  if (does === "arrive") return transfer?.arrive();
  if (does === "read") transfer?.read(bytes);
  if (does === "credit") transfer?.credit();
  return true;
}

const three = (budget: WindowBudget) => [new Transfer(budget), new Transfer(budget), new Transfer(budget)];

describe("the windows of streams", () => {
  test("let in no byte without credit, and bound what is outstanding", ({ expect }) => {
    fc.assert(
      fc.property(steps, (history) => {
        const transfers = three(new WindowBudget(BUDGET));
        for (const one of history) {
          expect(take(transfers, one)).toBe(true);
          const all = transfers.map(({ outstanding }) => outstanding);
          expect(Math.max(...all)).toBeLessThanOrEqual(LINK_WINDOW_MAX_BYTES);
          expect(all.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(
            3 * LINK_WINDOW_BYTES + BUDGET,
          );
        }
      }),
    );
  });

  test("open again whenever everything was read: nobody waits for ever", ({ expect }) => {
    fc.assert(
      fc.property(steps, (history) => {
        const transfers = three(new WindowBudget(BUDGET));
        for (const one of history) take(transfers, one);
        for (const transfer of transfers) {
          transfer.settle();
          expect(transfer.send.open).toBeGreaterThan(LINK_WINDOW_BYTES / 2);
        }
      }),
    );
  });

  test("give back all that they grew by when they close, whatever is read later", ({ expect }) => {
    fc.assert(
      fc.property(steps, (history) => {
        const budget = new WindowBudget(BUDGET);
        const transfers = three(budget);
        for (const one of history) take(transfers, one);
        for (const { receive } of transfers) receive.close();
        for (const { receive } of transfers) receive.close();
        for (const transfer of transfers) {
          transfer.read(Number.POSITIVE_INFINITY);
          transfer.settle();
        }
        expect(budget.take(Number.MAX_SAFE_INTEGER)).toBe(BUDGET);
      }),
    );
  });

  test("grow to their bound for a reader that keeps up", ({ expect }) => {
    const transfer = new Transfer(new WindowBudget(LINK_WINDOW_MAX_BYTES));
    for (let turn = 0; turn < 10; turn += 1) {
      transfer.write(LINK_WINDOW_MAX_BYTES);
      transfer.settle();
    }
    expect(transfer.send.open).toBe(LINK_WINDOW_MAX_BYTES);
  });

  test("of a sender: refuse bytes that are more than the credit", ({ expect }) => {
    const receive = new ReceiveWindow(new WindowBudget(0));
    expect(receive.received(LINK_WINDOW_BYTES)).toBe(true);
    expect(receive.received(1)).toBe(false);
  });
});

describe("a waiting sender", () => {
  test("goes on when credit comes", async ({ expect }) => {
    const send = new SendWindow();
    send.sent(LINK_WINDOW_BYTES);
    const opened = send.untilOpen().then(() => send.open);
    send.credited(7);
    expect(await opened).toBe(7);
  });

  test("is let go when the stream is over, before it waits as well as while it does", async ({ expect }) => {
    const send = new SendWindow();
    send.sent(LINK_WINDOW_BYTES);
    const waiting = send.untilOpen();
    send.close();
    await waiting;
    await send.untilOpen();
    expect(send.open).toBe(0);
  });
});
