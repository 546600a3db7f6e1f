import fc from "fast-check";
import { test } from "vitest";
import {
  WebhookScheduler,
  WEBHOOK_CALLS_MAX,
  WEBHOOK_CALLS_PER_HOST,
  WEBHOOK_SUSPECT_CALLS,
} from "./webhook-scheduler.ts";

const HOSTS = ["a", "b", "c", "d"];

/** Opens calls until no more are allowed; answers the hosts called. */
function openAll(turns: WebhookScheduler, hosts: readonly string[]): string[] {
  const opened: string[] = [];
  for (let host = turns.next(hosts); host !== undefined; host = turns.next(hosts)) {
    turns.opened(host);
    opened.push(host);
  }
  return opened;
}

test("one host alone leaves a call for others", ({ expect }) => {
  const turns = new WebhookScheduler();
  expect(openAll(turns, ["a"])).toHaveLength(WEBHOOK_CALLS_PER_HOST);
  expect(turns.next(["a", "b"])).toBe("b");
});

test("hosts that did not answer are called one at a time, and leave most calls to others", ({ expect }) => {
  const turns = new WebhookScheduler();
  for (const host of ["a", "b", "c"]) {
    turns.opened(host);
    turns.closed(host, false);
  }
  expect(openAll(turns, ["a", "b", "c"])).toEqual(["a", "b"]);
  expect(openAll(turns, ["a", "b", "c", "d"])).toEqual(["d", "d", "d"]);
  turns.closed("a", true); // answers again
  expect(turns.next(["a"])).toBe("a");
});

test("whatever happens, the bounds hold, and with all calls closed somebody may be called", ({ expect }) => {
  const step = fc.record({ host: fc.constantFrom(...HOSTS), isPrompt: fc.boolean(), isClose: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const turns = new WebhookScheduler();
      const open: string[] = [];
      const suspects = new Set<string>();
      for (const { host, isPrompt, isClose } of steps) {
        if (isClose && open.includes(host)) {
          open.splice(open.indexOf(host), 1);
          turns.closed(host, isPrompt);
          if (isPrompt) suspects.delete(host);
          else suspects.add(host);
        } else if (!isClose && turns.next([host]) === host) {
          turns.opened(host);
          open.push(host);
          if (suspects.has(host)) {
            expect(open.filter((other) => other === host)).toHaveLength(1);
          }
        }
        expect(open.length).toBeLessThanOrEqual(WEBHOOK_CALLS_MAX);
        for (const one of HOSTS) {
          expect(open.filter((other) => other === one).length).toBeLessThanOrEqual(WEBHOOK_CALLS_PER_HOST);
        }
      }
      for (const host of open) turns.closed(host, true);
      expect(turns.openCount).toBe(0);
      expect(turns.next(HOSTS)).toBe(HOSTS.find((host) => turns.next([host]) === host));
      expect(turns.next(HOSTS)).toBeDefined();
    }),
  );
  expect(WEBHOOK_SUSPECT_CALLS).toBeLessThan(WEBHOOK_CALLS_MAX);
});
