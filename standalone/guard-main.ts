/** The guard's own process; see guard.ts. Reads lists of processes, one per line; acts when input ends. */
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import type { Guarded } from "./guard.ts";
import { isRunning } from "./process-identity.ts";

const POLL_MS = 50;

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}

async function end(guarded: Guarded): Promise<void> {
  const killAt = Date.now() + guarded.graceMs;
  while (isRunning(guarded) && Date.now() < killAt) await delay(POLL_MS);
  if (isRunning(guarded)) kill(guarded.pid);
}

// The terminal's signals are not for us; only the pipe counts.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

let last: readonly Guarded[] = [];
for await (const line of createInterface({ input: process.stdin })) {
  last = JSON.parse(line) as readonly Guarded[];
}
await Promise.all(last.map(end));
