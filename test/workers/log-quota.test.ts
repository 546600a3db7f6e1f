/** What logs of an account may add in a day: bounded, cheap to count, and said where lines are missing. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { openDatabase } from "../../src/db/database.ts";
import { takeLogBytes, type LogBytes } from "../../src/db/log-days.ts";
import type { LogLine, LogPage, LogLineView } from "../../src/contract/agent/log.ts";
import { takeLogStorage } from "../../src/management/logs/log-quota.ts";
import { maintain } from "../../src/maintenance/tasks.ts";
import { freshAccount } from "./accounts.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { passTime } from "./object.ts";
import { withTap } from "./tapped-database.ts";

const api = new EdgeClient();
const { call, createEndpoint, openEvents, signInAsNewAccount } = api;

const NOON = Date.UTC(2026, 10, 23, 12, 34);
const DAY_MS = 86_400_000;
const MEGABYTE = 1_000_000;
/** 20,000 bytes. */
const LIMIT_GB = "0.00002";

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: NOON }));
afterEach(() => void vi.useRealTimers());
afterEach(() => limitLogs(undefined));

function limitLogs(gigabytes: string | undefined): void {
  Object.assign(env, { LOG_STORAGE_GB_PER_DAY: gigabytes });
}

/** A line of so many bytes that gzip makes little smaller. */
function noise(name: string, sizeBytes: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array((sizeBytes * 3) / 4));
  return `${name} ${btoa(String.fromCharCode(...bytes))}`;
}

const printed = (...lines: string[]): LogLine[] =>
  lines.map((line, index) => ({ seq: (Date.now() + index) * 1_000, source: "container", line }));

async function twoWorkers() {
  const endpointId = await createEndpoint("workersMin: 2");
  const agent = await ScriptedAgent.join(api);
  const [one = "", two = ""] = await agent.bringUpWorkers(endpointId, 2);
  const send = (workerId: string, ...lines: string[]) =>
    agent.sendLogs([{ endpointId, workerId, lines: printed(...lines) }]);
  return { endpointId, agent, one, two, send };
}

/** How the lines of an endpoint begin, or of a worker. */
async function shown(endpointId: string, workerId = ""): Promise<string[]> {
  const { body } = await call("GET", `/v2/${endpointId}/logs?workerId=${workerId}`);
  return (body as LogPage).lines.map(({ line }) => /^(Lines since \S+|\S+)/.exec(line)?.[0] ?? "");
}

describe("a day's logs above the limit", () => {
  test("are dropped, and each worker's log says so in one line", async ({ expect }) => {
    limitLogs(LIMIT_GB);
    const { endpointId, one, two, send } = await twoWorkers();
    await send(one, noise("first", 10_000));
    passTime(60_000);
    expect(await send(one, noise("second", 30_000), noise("third", 10))).toEqual({ follows: [] });
    passTime(60_000);
    for (const workerId of [one, two, one]) {
      expect(await send(workerId, noise("later", 10))).toEqual({ follows: [] });
    }
    expect(await shown(endpointId, one)).toEqual(["first", "Lines since 12:35"]);
    expect(await shown(endpointId, two)).toEqual(["Lines since 12:35"]);
    expect(await shown(endpointId)).toHaveLength(3);
    const { body } = await call("GET", `/v2/${endpointId}/logs?source=system&workerId=${two}`);
    expect((body as LogPage).lines).toEqual([
      {
        id: expect.stringMatching(/\.system\./),
        at: NOON + 60_000,
        source: "system",
        workerId: two,
        line: expect.stringMatching(/0\.00 GB.*LOG_STORAGE_GB_PER_DAY/),
      },
    ]);
  });

  test("are sent to followers", async ({ expect }) => {
    limitLogs(LIMIT_GB);
    const { endpointId, agent, one, send } = await twoWorkers();
    await send(one, noise("too", 30_000));
    await using events = await openEvents(`/v2/${endpointId}/logs?limit=1`);
    const nextLine = async () => {
      const event = await events.next();
      return (event?.data as LogLineView | undefined)?.line.slice(0, 20);
    };
    expect(await nextLine()).toMatch(/^Lines since/);
    passTime(1_000);
    await agent.sendLogs([{ endpointId, workerId: one, lines: printed("live") }], { isLive: true });
    expect(await nextLine()).toBe("live");
  });

  test("are kept again on the next day, and those of other accounts all the time", async ({ expect }) => {
    limitLogs(LIMIT_GB);
    const { endpointId, one, send } = await twoWorkers();
    await send(one, noise("too", 30_000));
    passTime(DAY_MS / 2);
    await send(one, noise("next", 10));
    expect(await shown(endpointId)).toEqual(["Lines since 12:34", "next"]);
    vi.setSystemTime(NOON);
    await signInAsNewAccount();
    const other = await twoWorkers();
    await other.send(other.one, noise("other", 10));
    expect(await shown(other.endpointId)).toEqual(["other"]);
  });
});

describe("the bytes of a day", () => {
  async function takenBytes(accountId: string): Promise<number | undefined> {
    const query = env.DB.prepare("SELECT taken_bytes AS bytes FROM log_day WHERE account_id = ?");
    return (await query.bind(accountId).first<{ bytes: number }>())?.bytes;
  }

  const take = (accountId: string, bytes: LogBytes, now = NOON) =>
    takeLogBytes(openDatabase(env.DB), { accountId, day: "2026-11-23" }, bytes, now);

  test("are never taken beyond the limit, however many isolates take them at once", async ({ expect }) => {
    const { accountId } = await freshAccount();
    const bytes = { needed: 700, requested: 5_000, limit: 100_000 };
    const takers = Array.from({ length: 50 }, (_, index) => take(accountId, bytes, NOON + index));
    const taken = await Promise.all(takers);
    const granted = taken.flatMap((one) => ("bytes" in one ? one.bytes : []));
    expect(granted.reduce((sum, one) => sum + one)).toBe(100_000);
    expect(Math.min(...granted)).toBeGreaterThanOrEqual(700);
    const full = new Set(taken.flatMap((one) => ("bytes" in one ? [] : one.fullSince)));
    expect(full.size).toBe(1);
  });

  test("that are left over are not given to smaller lines, until the limit is raised", async ({ expect }) => {
    const { accountId } = await freshAccount();
    const limit = 1_000;
    expect(await take(accountId, { needed: 900, requested: 900, limit })).toEqual({ bytes: 900 });
    expect(await take(accountId, { needed: 200, requested: 500, limit })).toEqual({ fullSince: NOON });
    expect(await take(accountId, { needed: 50, requested: 500, limit }, NOON + 1)).toEqual({
      fullSince: NOON,
    });
    expect(await take(accountId, { needed: 50, requested: 500, limit: 1_500 })).toEqual({ bytes: 500 });
  });

  test("are requested from D1 once in 64 MB, after the first", async ({ expect }) => {
    const { accountId } = await freshAccount();
    let asked = 0;
    const tapped = withTap(async () => void (asked += 1));
    for (let stored = 0; stored < 256; stored += 1) {
      expect(await takeLogStorage(tapped, accountId, MEGABYTE, NOON)).toBe(true);
    }
    expect(asked).toBeLessThanOrEqual(7 + 256 / 64);
    expect(await takenBytes(accountId)).toBeLessThanOrEqual(2 * 256 * MEGABYTE);
  });

  test("are taken once for lines that come together", async ({ expect }) => {
    const { accountId } = await freshAccount();
    let asked = 0;
    const tapped = withTap(async () => void (asked += 1));
    await Promise.all([1, 2, 3, 4].map(() => takeLogStorage(tapped, accountId, 1_000, NOON)));
    expect(asked).toBe(1);
  });

  test("are taken again when the request that took them has ended without an answer", async ({ expect }) => {
    const { accountId } = await freshAccount();
    const silent = withTap(() => new Promise(() => {}));
    void takeLogStorage(silent, accountId, 1_000, NOON);
    expect(await takeLogStorage(env, accountId, 1_000, NOON + 6_000)).toBe(true);
  });

  test("of past days are forgotten", async ({ expect }) => {
    const { accountId } = await freshAccount();
    await take(accountId, { needed: 1, requested: 1, limit: 10 });
    await maintain(env, NOON + DAY_MS);
    expect(await takenBytes(accountId)).toBe(1);
    await maintain(env, NOON + 2 * DAY_MS);
    expect(await takenBytes(accountId)).toBeUndefined();
  });
});
