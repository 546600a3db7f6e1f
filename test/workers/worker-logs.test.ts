/** Logs: taken from agents, kept, found again, followed, and removed when their time is over. */
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, test } from "vitest";
import { LOG_RETENTION_DAYS_DEFAULT } from "../../src/management/logs/log-retention.ts";
import { LOG_FOLLOWERS_MAX } from "../../src/endpoint/dispatch/log-followers.ts";
import {
  LOG_BATCH_MAX_BYTES,
  LOG_PAGE_MAX,
  type LogLine,
  type LogLineView,
  type LogPage,
} from "../../src/contract/agent/log.ts";
import { maintain } from "../../src/maintenance/tasks.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { freshAccount } from "./accounts.ts";
import { EdgeClient, type ServerEvent } from "./edge-client.ts";
import { evict, fleetObject, noChannelOf } from "./object.ts";
import { issueAt } from "./message-facts.ts";
import { soon } from "./support/until.ts";
import { LOG_PAGE_MAX_BYTES } from "../../src/domain/logs/log-collector.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, openEvents, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);

const DAY_MS = 86_400_000;
const MICROS = 1_000;

/** Lines a millisecond apart, the first of them `agoMs` ago. */
function printed(agoMs: number, texts: readonly string[], more: Partial<LogLine> = {}): LogLine[] {
  const from = (Date.now() - agoMs) * MICROS;
  return texts.map((line, index) => ({ seq: from + index * MICROS, source: "container", line, ...more }));
}

/** An endpoint with workers on a host: one, or `two`. */
async function newWorker(count = 1) {
  const endpointId = await createEndpoint(`workersMin: ${count}`);
  const agent = await ScriptedAgent.join(api);
  const [workerId = "", two = ""] = await agent.bringUpWorkers(endpointId, count);
  const send = (lines: LogLine[], options?: Parameters<ScriptedAgent["sendLogs"]>[1]) =>
    agent.sendLogs([{ endpointId, workerId, lines }], options);
  return { endpointId, agent, workerId, two, send };
}

async function query(endpointId: string, parameters: Record<string, string> = {}): Promise<LogPage> {
  const query = new URLSearchParams(parameters).toString();
  const { status, body } = await call("GET", `/v2/${endpointId}/logs?${query}`);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body as LogPage;
}

const texts = (page: LogPage): string[] => page.lines.map(({ line }) => line);
const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`);

async function keysOf(endpointId: string): Promise<string[]> {
  const { objects } = await env.LOGS.list();
  return objects.map(({ key }) => key).filter((key) => key.includes(endpointId));
}

describe("lines of a worker", () => {
  test("are found again with all that is known of them, in the order of time", async ({ expect }) => {
    const { endpointId, send, workerId } = await newWorker();
    const [event] = printed(3_000, ["The container was started."], { source: "system" });
    const [line] = printed(2_000, ["hello"], { stream: "stderr", jobId: "job-1", level: "ERROR" });
    if (!event || !line) throw new Error("no lines");
    await send([line, event]);
    const page = await query(endpointId);
    expect(page.cursor).toBeNull();
    expect(page.lines).toEqual([
      {
        id: `${event.seq}.system.${workerId}`,
        at: event.seq / MICROS,
        workerId,
        source: "system",
        line: "The container was started.",
      },
      {
        id: `${line.seq}.container.${workerId}`,
        at: line.seq / MICROS,
        workerId,
        source: "container",
        stream: "stderr",
        jobId: "job-1",
        level: "ERROR",
        line: "hello",
      },
    ]);
  });

  test("are found by worker, job, source, level, text and time", async ({ expect }) => {
    const { endpointId, agent, workerId: one, two } = await newWorker(2);
    const of = (workerId: string, lines: LogLine[]) => ({ endpointId, workerId, lines });
    await agent.sendLogs([
      of(one, printed(60_000, ["Loading"], { jobId: "a", level: "INFO" })),
      of(one, printed(50_000, ["started"], { source: "system" })),
      of(two, printed(40_000, ["loading too"], { jobId: "b", level: "ERROR" })),
    ]);
    const found = async (parameters: Record<string, string>) => texts(await query(endpointId, parameters));
    expect(await found({})).toEqual(["Loading", "started", "loading too"]);
    expect(await found({ workerId: one })).toEqual(["Loading", "started"]);
    expect(await found({ jobId: "b" })).toEqual(["loading too"]);
    expect(await found({ source: "system" })).toEqual(["started"]);
    expect(await found({ level: "error" })).toEqual(["loading too"]);
    expect(await found({ search: "LOADING" })).toEqual(["Loading", "loading too"]);
    expect(await found({ since: `${Date.now() - 55_000}` })).toEqual(["started", "loading too"]);
    const until = new Date(Date.now() - 45_000).toISOString();
    expect(await found({ until })).toEqual(["Loading", "started"]);
  });

  test("come page after page, each once, though objects of workers overlap", async ({ expect }) => {
    const { endpointId, agent, workerId: one, two } = await newWorker(2);
    const base = Date.now() - 600_000;
    const all: { at: number; line: string }[] = [];
    for (const [number, workerId] of [one, two].entries()) {
      for (let batch = 0; batch < 4; batch += 1) {
        const lines = Array.from({ length: 25 }, (_, index): LogLine => {
          const seq = (base + batch * 60_000 + index * 2_000 + number * 7) * MICROS;
          return { seq, source: "container", line: `${workerId} ${batch} ${index}` };
        });
        all.push(...lines.map(({ seq, line }) => ({ at: seq, line })));
        await agent.sendLogs([{ endpointId, workerId, lines }]);
      }
    }
    const expected = all.toSorted((a, b) => a.at - b.at).map(({ line }) => line);
    const pages: string[][] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page = await query(endpointId, { limit: "45", cursor });
      pages.unshift(texts(page));
      ({ cursor } = page);
    }
    expect(pages.flat()).toEqual(expected);
    expect(pages.length).toBeGreaterThan(4);
  });

  test("that are sent twice are shown once", async ({ expect }) => {
    const { endpointId, send } = await newWorker();
    const lines = printed(10_000, numbers(1, 30));
    await send(lines.slice(0, 20));
    await send(lines.slice(0, 20));
    await send(lines.slice(10));
    expect(texts(await query(endpointId))).toEqual(numbers(1, 30));
    expect(await keysOf(endpointId)).toHaveLength(2);
  });

  test("keep their order when the host's clock is wrong, and get the time of the edge", async ({
    expect,
  }) => {
    const { endpointId, send } = await newWorker();
    const aheadMs = 3_600_000;
    const begunAt = Date.now();
    await send(printed(2_000 - aheadMs, ["ahead"]), { aheadMs });
    const [line] = (await query(endpointId)).lines;
    expect(line?.at).toBeGreaterThan(begunAt - 3_500);
    expect(line?.at).toBeLessThan(Date.now() - 500);
  });

  test("of a call that was late, and comes once more, are shown once", async ({ expect }) => {
    const { endpointId, send } = await newWorker();
    const lines = printed(30_000, ["late"]);
    await send(lines, { aheadMs: -20_000 });
    await send(lines);
    expect(texts(await query(endpointId))).toEqual(["late"]);
  });

  test("of hours without the edge are kept in pieces that a reader finds", async ({ expect }) => {
    const { endpointId, send } = await newWorker();
    const lines = [300, 200, 100, 0].flatMap((minutes) => printed(minutes * 60_000 + 100, [`${minutes}`]));
    await send(lines);
    expect(await keysOf(endpointId)).toHaveLength(4);
    const first = await query(endpointId, { limit: "1" });
    expect(texts(first)).toEqual(["0"]);
    expect(texts(await query(endpointId, { limit: "3", cursor: first.cursor ?? "" }))).toEqual([
      "300",
      "200",
      "100",
    ]);
  });
});

/** The text of an object of logs, unpacked. */
async function textOf(key: string): Promise<string> {
  const object = await env.LOGS.get(key);
  return await new Response(object?.body.pipeThrough(new DecompressionStream("gzip"))).text();
}

describe("more than a batch of one worker", () => {
  test("is kept in objects of that size, and found page after page", async ({ expect }) => {
    const { endpointId, send } = await newWorker();
    const lines = printed(
      60_000,
      Array.from({ length: 300 }, (_, index) => `${index} ${"x".repeat(32_000)}`),
    );
    await send(lines);

    const sizes = (await Promise.all((await keysOf(endpointId)).map(textOf))).map(({ length }) => length);
    expect(sizes.length).toBeGreaterThanOrEqual(10);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(LOG_BATCH_MAX_BYTES);

    const found: string[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page = await query(endpointId, { limit: "2000", cursor });
      expect(texts(page).join("").length).toBeLessThanOrEqual(LOG_PAGE_MAX_BYTES);
      found.unshift(...texts(page));
      ({ cursor } = page);
    }
    expect(found.map((text) => text.split(" ")[0])).toEqual(lines.map((_, index) => `${index}`));
    expect(texts(await query(endpointId, { search: "299 x" }))).toHaveLength(1);
  });
});

describe("access to logs", () => {
  test("allows to follow a worker that is gone while its lines are kept, but none that never existed", async ({
    expect,
  }) => {
    const { endpointId, agent, workerId, send } = await newWorker();
    await send(printed(1_000, ["last words"]));
    const pathOf = (id: string) => `/v2/serverless/${endpointId}/workers/${id}/logs`;
    expect((await call("GET", pathOf("invented"))).body["code"]).toBe("not_found");
    await graphql(
      `mutation { saveEndpoint(input: { id: "${endpointId}", workersMin: 0, workersMax: 0 }) { id } }`,
    );
    await agent.sync();
    await using events = await openEvents(pathOf(workerId));
    expect((await events.next())?.data).toMatchObject({ line: "last words" });
  });

  test("rejects logs without a host token, and bodies that are not lines", async ({ expect }) => {
    const { agent } = await newWorker();
    expect((await call("POST", "/agent/v1/logs", "x")).status).toBe(401);
    expect((await agent.postLogs("not zipped")).status).toBe(400);
  });

  test("ends at the account, for writing and for reading", async ({ expect }) => {
    const { endpointId, workerId, send } = await newWorker();
    await send(printed(1_000, ["mine"]));
    await signInAsNewAccount();
    const other = await newWorker();
    await other.agent.sendLogs([{ endpointId, workerId, lines: printed(900, ["foreign"]) }]);
    for (const path of [`/v2/${endpointId}/logs`, `/v2/serverless/${endpointId}/workers/${workerId}/logs`]) {
      expect((await call("GET", path)).body["code"]).toBe("endpoint_not_found");
    }
    expect(await keysOf(endpointId)).toHaveLength(1);
  });

  test("rejects lines of a worker that is or was another host's, or never existed", async ({ expect }) => {
    const { endpointId, agent, workerId, send } = await newWorker();
    const liar = await ScriptedAgent.join(api, "liar");
    const of = (id: string, line: string) => ({ endpointId, workerId: id, lines: printed(900, [line]) });
    const refused = [workerId, "invented"].map((id) => ({ workerId: id, code: "worker_not_assigned" }));
    const lies = [of(workerId, "forged"), of("invented", "forged")];
    expect(await liar.sendLogs(lies)).toEqual({ follows: [], refused });
    expect(await liar.sendLogs(lies, { isLive: true })).toEqual({ follows: [], refused });
    const mixed = await agent.sendLogs([of("invented", "forged"), of(workerId, "true")]);
    expect(mixed.refused).toEqual(refused.slice(1));

    await agent.ask("POST", "/agent/v1/host/drain");
    const { revision } = await agent.sync();
    await agent.sync({ appliedRevision: revision }); // it lists the worker no more
    await evictDurableObject(fleetObject(api.accountId));
    expect(await send(printed(500, ["last words"]))).toEqual({ follows: [] });
    expect((await liar.sendLogs(lies)).refused).toEqual(refused);
    expect(texts(await query(endpointId))).toEqual(["true", "last words"]);
  });

  test("stores lines that are beside one that cannot be read", async ({ expect }) => {
    const { endpointId, send } = await newWorker();
    const [good] = printed(900, ["good"]);
    await send([{ ...good, source: "nowhere" } as never, good as LogLine]);
    expect(texts(await query(endpointId))).toEqual(["good"]);
  });

  test("answers an invalid request with an error", async ({ expect }) => {
    const { endpointId } = await newWorker();
    const refused = async (query: string) => (await call("GET", `/v2/${endpointId}/logs?${query}`)).body;
    expect(await refused("limit=0")).toMatchObject({
      code: "invalid_input",
      error: expect.stringMatching(issueAt("limit")),
    });
    expect(await refused(`limit=${LOG_PAGE_MAX + 1}`)).toMatchObject({
      error: expect.stringMatching(issueAt("limit", LOG_PAGE_MAX)),
    });
    expect(await refused("since=yesterday")).toMatchObject({
      error: expect.stringMatching(issueAt("since")),
    });
    expect(await refused("cursor=7")).toMatchObject({ error: expect.stringMatching(issueAt("cursor")) });
    expect(await refused("source=kernel")).toMatchObject({
      code: "invalid_input",
      error: expect.stringMatching(issueAt("source")),
    });
  });
});

describe("logs are removed", () => {
  test("when their retention is over, and no others are", async ({ expect }) => {
    const { endpointId, send } = await newWorker();
    await send(printed((LOG_RETENTION_DAYS_DEFAULT - 1) * DAY_MS, ["old"]));
    await send(printed(1_000, ["new"]));
    const later = Date.now() + 3 * DAY_MS;
    await maintain(env, Date.now());
    expect(texts(await query(endpointId))).toEqual(["old", "new"]);
    await maintain(env, later);
    expect(texts(await query(endpointId))).toEqual(["new"]);
    await maintain({ ...env, LOG_RETENTION_DAYS: "1" }, later);
    expect(await keysOf(endpointId)).toEqual([]);
  });

  test("with their endpoint", async ({ expect }) => {
    const { endpointId, send } = await newWorker();
    await send(printed(3 * DAY_MS, ["old"]));
    await send(printed(1_000, ["new"]));
    expect(await keysOf(endpointId)).toHaveLength(2);
    await graphql(
      `mutation { saveEndpoint(input: { id: "${endpointId}", workersMin: 0, workersMax: 0 }) { id } }`,
    );
    await graphql(`mutation { deleteEndpoint(id: "${endpointId}") }`);
    expect(await keysOf(endpointId)).toEqual([]);
  });
});

describe("a follower", () => {
  const follow = (endpointId: string, query = "", lastEventId?: string) =>
    openEvents(`/v2/${endpointId}/logs?${query}`, lastEventId);

  const lineOf = (event: ServerEvent | undefined) => (event?.data as LogLineView | undefined)?.line;

  /** What an agent that has learned of the followers sends them. */
  const live = { isLive: true };

  test("gets the kept lines, then what is printed, each once", async ({ expect }) => {
    const { endpointId, send } = await newWorker();
    const lines = printed(5_000, numbers(1, 8));
    await send(lines.slice(0, 5));
    await using events = await follow(endpointId, "limit=3");
    const next = async () => lineOf(await events.next());
    expect([await next(), await next(), await next()]).toEqual(numbers(3, 5));
    await send(lines.slice(2, 7), live);
    await send(lines.slice(5, 8), live);
    expect([await next(), await next(), await next()]).toEqual(numbers(6, 8));
  });

  test("gets only the requested lines, in the shape of the worker's URL", async ({ expect }) => {
    const { endpointId, agent, workerId, two } = await newWorker(2);
    await using events = await openEvents(
      `/v2/serverless/${endpointId}/workers/${two}/logs?source=container&tail=0`,
    );
    await events.comment();
    const lines = printed(-1_000, ["shown"]);
    await agent.sendLogs(
      [
        { endpointId, workerId, lines: printed(-1_000, ["of another"]) },
        {
          endpointId,
          workerId: two,
          lines: [...printed(-1_000, ["event"], { source: "system" }), ...lines],
        },
      ],
      live,
    );
    const ts = new Date(Math.floor((lines[0]?.seq ?? 0) / MICROS)).toISOString();
    expect((await events.next())?.data).toEqual({ source: "container", line: "shown", ts });
  });

  test("continues after the last event that it got, with lines stored meanwhile", async ({ expect }) => {
    const { endpointId, agent, send, two } = await newWorker(2);
    const mine = printed(9_000, numbers(1, 6));
    const others = printed(9_000, ["other 1", "other 2"]);
    await send(mine.slice(0, 3));
    let id: string | undefined;
    {
      await using events = await follow(endpointId);
      for (let count = 0; count < 3; count += 1) id = (await events.next())?.id;
    }
    await noChannelOf(endpointId, "follow");
    await send(mine.slice(3));
    await agent.sendLogs([{ endpointId, workerId: two, lines: others }]);
    await using again = await follow(endpointId, "", id);
    const got: string[] = [];
    for (let count = 0; count < 5; count += 1) got.push(String(lineOf(await again.next())));
    expect(got.toSorted()).toEqual([...numbers(4, 6), "other 1", "other 2"]);
  });

  test("of one worker has ids that begin with the time, and continues after any of them", async ({
    expect,
  }) => {
    const { endpointId, send, workerId } = await newWorker();
    const path = `/v2/serverless/${endpointId}/workers/${workerId}/logs`;
    const lines = printed(9_000, numbers(1, 4));
    await send([...printed(8_000, ["event"], { source: "system" }), ...lines]);
    const read = async (count: number, id?: string) => {
      await using events = await openEvents(path, id);
      const got = [];
      for (let at = 0; at < count; at += 1) got.push(await events.next());
      return got;
    };
    const all = await read(5);
    const times = all.map((event) => (event?.data as { ts?: string } | undefined)?.ts ?? "");
    expect(all.map((event) => String(event?.id).split("/")[0])).toEqual(times);
    const rest = await read(3, all[1]?.id);
    expect(rest.map(lineOf)).toEqual(all.slice(2).map(lineOf));
    // Ids of the service that has these paths: what comes next begins at the time.
    for (const id of [`${times[4]}`, `${times[4]}/000000000042`]) {
      expect((await read(1, id)).map(lineOf)).toEqual([lineOf(all[4])]);
    }
  });

  test("is announced to waiting agents, and so is the end of the last follower", async ({ expect }) => {
    const { endpointId, agent, send } = await newWorker();
    const held = agent.exchange(endpointId, { holdMs: 10_000, follow: 0 });
    const events = await follow(endpointId);
    const reply = await held;
    expect(reply.follow).toBeGreaterThan(0);
    expect(await send(printed(0, ["x"]), live)).toEqual({ follows: [{ endpointId, follow: reply.follow }] });

    const nextCall = agent.exchange(endpointId, { holdMs: 10_000, follow: reply.follow ?? -1 });
    await events[Symbol.asyncDispose]();
    expect((await nextCall).follow).toBe(0);
    expect(await send(printed(0, ["y"]), live)).toEqual({ follows: [{ endpointId, follow: 0 }] });
  });

  test("is not forgotten when the object loses its memory; a new one has a higher number", async ({
    expect,
  }) => {
    const { endpointId, agent, send } = await newWorker();
    await using events = await follow(endpointId);
    const { follow: first } = await agent.exchange(endpointId, { follow: 0 });
    await evict(endpointId);
    const { follow: known } = await agent.exchange(endpointId, { follow: 0 });
    expect(known ?? first).toBe(first);
    await using more = await follow(endpointId);
    const { follows } = await send(printed(0, ["to both"]), live);
    expect(follows[0]?.follow).toBeGreaterThan(first ?? Number.POSITIVE_INFINITY);
    for (const one of [events, more]) expect((await one.next())?.data).toMatchObject({ line: "to both" });
  });

  test("gets no lines of an agent that does not know it, since it gets earlier ones later", async ({
    expect,
  }) => {
    const { endpointId, agent, workerId } = await newWorker();
    const [one, two] = [printed(2_000, ["one"]), printed(1_000, ["two"])];
    const send = (lines: LogLine[], known?: number) =>
      agent.sendLogs([{ endpointId, workerId, lines, follow: known }], live);
    await using events = await follow(endpointId, "limit=1");
    const { follow: first = 0 } = await agent.exchange(endpointId, { follow: 0 });
    await send(one, first);
    await using more = await follow(endpointId, "limit=1");
    const { follows } = await send(two, first);
    await send([...one, ...two], follows[0]?.follow);
    for (const one of [events, more])
      for (const line of ["one", "two"])
        expect(lineOf(await soon(one.next(), "each follower has both lines"))).toBe(line);
  });

  test("gets an error when there are too many followers", async ({ expect }) => {
    const { endpointId } = await newWorker();
    await using all = new AsyncDisposableStack();
    for (let count = 0; count < LOG_FOLLOWERS_MAX; count += 1) all.use(await follow(endpointId));
    expect((await follow(endpointId)).status).toBe(429);
  });

  test("does not concern older agents", async ({ expect }) => {
    const { endpointId, agent } = await newWorker();
    await using _events = await follow(endpointId);
    expect(await agent.exchange(endpointId)).not.toHaveProperty("follow");
  });
});

test("a key of another account opens no stream of lines", async ({ expect }) => {
  const { endpointId } = await newWorker();
  const { key } = await freshAccount();
  const headers = { Authorization: `Bearer ${key}`, Accept: "text/event-stream" };
  expect((await call("GET", `/v2/${endpointId}/logs`, undefined, headers)).status).toBe(404);
});
