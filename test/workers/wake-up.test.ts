import { test } from "vitest";
import { awaitWakeUp } from "../../src/gateway/wake-up.ts";

/** An object that opens a channel, or none. */
function objectWith(channel: EventTarget | null) {
  const webSocket = channel && Object.assign(channel, { accept() {}, close() {} });
  const response = { webSocket } as unknown as Response;
  return { fetch: () => (channel ? Promise.resolve(response) : Promise.reject(new Error("reset"))) };
}

async function wakeUpBy(event: Event | null) {
  const channel = event && new EventTarget();
  const { signal } = new AbortController();
  const waking = awaitWakeUp(objectWith(channel), {}, Date.now() + 60_000, signal);
  await Promise.resolve();
  await Promise.resolve();
  if (event) channel?.dispatchEvent(event);
  return await waking;
}

test("a channel that breaks, or that cannot be opened, tells of a reset and of no news", async ({
  expect,
}) => {
  expect(await wakeUpBy(new MessageEvent("message", { data: "look" }))).toBe("look");
  expect(await wakeUpBy(new MessageEvent("message", { data: "superseded" }))).toBe("superseded");
  expect(await wakeUpBy(new Event("close"))).toBe("broken");
  expect(await wakeUpBy(null)).toBe("broken");
});
