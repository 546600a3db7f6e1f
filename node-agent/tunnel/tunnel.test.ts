import { test } from "vitest";
import { TIMING } from "../core/timing.ts";
import { BufferedMessages } from "../link/message-buffer.ts";
import { Tunnel } from "./tunnel.ts";

test("a tunnel that is over keeps nothing for its client", ({ expect }) => {
  const kept = { bytes: 0, maxBytes: 1_000_000 };
  const tunnel = new Tunnel({
    kind: "exec",
    tunnelId: "0".repeat(32),
    idleMs: 60_000,
    workerId: "worker",
    port: undefined,
    timing: TIMING,
    buffered: new BufferedMessages(),
    kept,
    onOver() {},
    onEnding() {},
  });
  tunnel.serve({ receive: () => undefined, drained() {}, async end() {} });
  while (!tunnel.isFull) tunnel.send(new Uint8Array(10_000));
  expect(kept.bytes).toBeGreaterThan(kept.maxBytes);
  expect(kept.bytes).toBeLessThan(2 * kept.maxBytes);
  tunnel.finish();
  expect(kept.bytes).toBeGreaterThan(0); // the client may come back for it
  tunnel.drop();
  expect(kept.bytes).toBe(0);
});
