import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { Runtime } from "../../runtime/interface/runtime.ts";
import { PodServices } from "./pod-services.ts";

const GRACE_MS = 1_000;
const MISSING = 127;

/** A container whose start script installs sshd at some time; what the agent says of it. */
function fixture() {
  const container = { hasSshd: false, listens: false, isKnown: true, fails: false, starts: 0 };
  const events: string[] = [];
  const exec = async () => {
    container.starts += 1;
    if (container.fails) throw new Error("the runtime is busy");
    if (container.hasSshd) container.listens = true;
    return Object.assign(new PassThrough(), { exit: Promise.resolve(container.hasSshd ? 0 : MISSING) });
  };
  const listening = async () => {
    if (!container.isKnown) return null;
    return container.listens ? [{ port: 22, address: "0.0.0.0" }] : [];
  };
  const note = (event: string): void => void events.push(event);
  const services = new PodServices({
    podId: "p1",
    runtime: { kind: "docker", exec, listening } as unknown as Runtime,
    log: { debug: note, info: note, warn: note, error: note },
    graceMs: GRACE_MS,
  });
  return { container, events, services };
}

describe("services of a pod", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("are started when the container's own script has installed them late", async ({ expect }) => {
    const { container, events, services } = fixture();
    services.ensure(["ssh"]);
    await vi.advanceTimersByTimeAsync(GRACE_MS);
    expect(events).toEqual(["pod_service_missing"]);
    container.hasSshd = true;
    await vi.advanceTimersByTimeAsync(2 * GRACE_MS);
    expect(events).toEqual(["pod_service_missing", "pod_service_started"]);
    await vi.advanceTimersByTimeAsync(100 * GRACE_MS);
    expect(container.starts).toBe(2);
  });

  test("are left alone when they listen", async ({ expect }) => {
    const { container, events, services } = fixture();
    container.listens = true;
    services.ensure(["ssh"]);
    await vi.advanceTimersByTimeAsync(100 * GRACE_MS);
    expect(events).toEqual([]);
    expect(container.starts).toBe(0);
  });

  test("are looked for a few times only, and said once to be missing", async ({ expect }) => {
    const { container, events, services } = fixture();
    services.ensure(["ssh"]);
    await vi.advanceTimersByTimeAsync(1_000 * GRACE_MS);
    expect(container.starts).toBe(4);
    expect(events).toEqual(["pod_service_missing"]);
  });

  test("are started after a time in which the runtime failed, or knew nothing of the container", async ({
    expect,
  }) => {
    const { container, events, services } = fixture();
    Object.assign(container, { hasSshd: true, fails: true });
    services.ensure(["ssh"]);
    await vi.advanceTimersByTimeAsync(GRACE_MS);
    Object.assign(container, { fails: false, isKnown: false });
    await vi.advanceTimersByTimeAsync(2 * GRACE_MS);
    container.isKnown = true;
    await vi.advanceTimersByTimeAsync(4 * GRACE_MS);
    expect(events).toEqual(["pod_service_not_started", "pod_service_started"]);
    expect(container.starts).toBe(2);
  });

  test("are not looked for once the container ends", async ({ expect }) => {
    const { container, services } = fixture();
    services.ensure(["ssh"]);
    await vi.advanceTimersByTimeAsync(GRACE_MS);
    services.stop();
    await vi.advanceTimersByTimeAsync(100 * GRACE_MS);
    expect(container.starts).toBe(1);
  });
});
