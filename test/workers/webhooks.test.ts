/** Webhooks from the end of a job to the receiver, which is a real server outside of the Workers runtime. */
import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { renderError } from "../../src/gateway/errors.ts";
import { WEBHOOK_RECHECK_MS } from "../../src/endpoint/webhooks/webhook-outbox.ts";
import { queueRoutes } from "../../src/gateway/queue/routes.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { alarmOf, endpointObject, evict, fireAlarm, kill, passTime, untilWebhooksRest } from "./object.ts";
import { receivedFor, verified, webhookSecret, webhookTarget, type WebhookTarget } from "./webhook-target.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, signInAsNewAccount } = api;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

type Attempt = { at: number; durationMs: number; statusCode?: number; error?: string };
type Log = { id: string; webhook: string | null; state: string; attempts: Attempt[]; nextAttemptAt?: number };

/** An endpoint with one worker, and what a test does with it. */
class Place {
  readonly endpointId: string;
  readonly agent: ScriptedAgent;
  #workerId: string;

  private constructor(endpointId: string, agent: ScriptedAgent, workerId: string) {
    this.endpointId = endpointId;
    this.agent = agent;
    this.#workerId = workerId;
  }

  static async open(): Promise<Place> {
    const endpointId = await createEndpoint("workersMin: 1, workersMax: 1, idleTimeout: 3600");
    const agent = await ScriptedAgent.join(api);
    return new Place(endpointId, agent, await agent.bringUpWorker(endpointId));
  }

  async submit(body: object): Promise<string> {
    const reply = await call("POST", `/v2/${this.endpointId}/run`, { input: { a: 1 }, ...body });
    if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
    return String(reply.body["id"]);
  }

  /** After some time without a word its host may be none any more; now it is there again, with a worker. */
  async comeBack(): Promise<void> {
    this.#workerId = await this.agent.bringUpWorker(this.endpointId);
  }

  take() {
    return this.agent.take(this.endpointId, this.#workerId);
  }

  /** Submits a job with a webhook and has it completed. */
  async complete(
    { webhook }: WebhookTarget,
    output: unknown = { b: 2 },
    input: unknown = { a: 1 },
  ): Promise<string> {
    const id = await this.submit({ input, webhook });
    await this.agent.complete(this.endpointId, await this.take(), output);
    return id;
  }

  /** Submits a job with a webhook and has it failed. */
  async fail({ webhook }: WebhookTarget): Promise<string> {
    const id = await this.submit({ webhook });
    await this.failNext();
    return id;
  }

  async failNext(): Promise<void> {
    const { id: jobId, attempt, workerId } = await this.take();
    await this.agent.report(this.endpointId, { kind: "failed", jobId, attempt, workerId, error: "it broke" });
  }

  async post(path: string) {
    return call("POST", `/v2/${this.endpointId}/${path}`);
  }

  async log(jobId: string): Promise<Log> {
    return (await call("GET", `/v2/${this.endpointId}/webhooks/${jobId}`)).body as unknown as Log;
  }

  rest(): Promise<void> {
    return untilWebhooksRest(this.endpointId);
  }

  async alarmAfter(ms: number): Promise<void> {
    passTime(ms);
    await fireAlarm(this.endpointId);
    await this.rest();
  }
}

test("attempts to deliver stand in the timeline of their job", async ({ expect }) => {
  const place = await Place.open();
  const target = webhookTarget("500,200");
  const id = await place.complete(target);
  await target.received(1);
  await place.rest();
  await place.alarmAfter(11 * SECOND);
  const { body } = await call("GET", `/v2/${place.endpointId}/status/${id}?timeline=1`);
  const attempts = (await place.log(id)).attempts.map(({ at, statusCode }) => ({ at, statusCode }));
  expect(attempts).toHaveLength(2);
  expect((body["timeline"] as object[]).slice(-2)).toMatchObject(
    attempts.map((attempt) => ({ event: "webhook_attempted", ...attempt })),
  );
});

describe("the content of webhooks", () => {
  test("a completed job: the status body with input and webhook, signed", async ({ expect }) => {
    const place = await Place.open();
    const target = webhookTarget();
    const id = await place.complete(target);
    const [got] = await target.received(1);
    const status = await call("GET", `/v2/${place.endpointId}/status/${id}`);
    expect(verified(got, (await webhookSecret(api)).secret)).toEqual({
      ...status.body,
      input: { a: 1 },
      webhook: target.webhook,
    });
    expect(got?.method).toBe("POST");
    expect(got?.headers).toMatchObject({
      "content-type": "application/json",
      "user-agent": "Edgerun-Webhooks/1",
      "content-length": String(got?.body.length),
      "webhook-id": `msg_${id}_0`,
    });
  });

  test("a failed job, with its error", async ({ expect }) => {
    const place = await Place.open();
    const target = webhookTarget();
    const id = await place.fail(target);
    const [got] = await target.received(1);
    expect(JSON.parse(got?.body ?? "")).toMatchObject({
      id,
      status: "FAILED",
      error: "it broke",
      input: { a: 1 },
    });
  });

  test("a job that timed out", async ({ expect }) => {
    const place = await Place.open();
    const target = webhookTarget();
    await place.submit({ webhook: target.webhook, policy: { executionTimeout: 5_000 } });
    await place.take();
    await place.alarmAfter(6 * SECOND);
    const [got] = await target.received(1);
    expect(JSON.parse(got?.body ?? "")).toMatchObject({
      status: "TIMED_OUT",
      error: "executionTimeout exceeded",
    });
  });

  test("a cancelled job, whether it waited or ran", async ({ expect }) => {
    const place = await Place.open();
    const target = webhookTarget();
    const running = await place.submit({ webhook: target.webhook });
    await place.take();
    const waiting = await place.submit({ webhook: target.webhook });
    await place.post(`cancel/${waiting}`);
    await place.post(`cancel/${running}`);
    await place.post(`cancel/${running}`); // no second end
    await target.received(2);
    await place.rest();
    const bodies = (await target.received(2)).map(
      ({ body }) => JSON.parse(body) as { id: string; status: string },
    );
    expect(bodies.map(({ id, status }) => ({ id, status }))).toEqual([
      { id: waiting, status: "CANCELLED" },
      { id: running, status: "CANCELLED" },
    ]);
  });

  test("a runsync job", async ({ expect }) => {
    const place = await Place.open();
    const target = webhookTarget();
    const reply = call("POST", `/v2/${place.endpointId}/runsync`, { input: 1, webhook: target.webhook });
    await place.agent.complete(place.endpointId, await place.take(), 2);
    const [got] = await target.received(1);
    expect(JSON.parse(got?.body ?? "")).toEqual({ ...(await reply).body, input: 1, webhook: target.webhook });
  });

  test("payloads in R2, complete and with their length", async ({ expect }) => {
    const place = await Place.open();
    const target = webhookTarget();
    const input = { text: "ä".repeat(300_000) };
    const output = { text: "ß".repeat(400_000) };
    await place.complete(target, output, input);
    const [got] = await target.received(1);
    expect(verified(got, (await webhookSecret(api)).secret)).toMatchObject({
      status: "COMPLETED",
      input,
      output,
    });
    expect(got?.headers["content-length"]).toBe(String(new TextEncoder().encode(got?.body).byteLength));
  });

  test("not a purged job, and not an expired one", async ({ expect }) => {
    const place = await Place.open();
    const target = webhookTarget();
    const requeued = await place.fail(webhookTarget());
    await place.submit({ webhook: target.webhook, policy: { ttl: 10_000 } });
    const taken = await place.take();
    await place.post(`retry/${requeued}`);
    const waiting = await place.submit({ webhook: target.webhook });
    await place.post("purge-queue");
    await place.alarmAfter(11 * SECOND);
    expect((await call("GET", `/v2/${place.endpointId}/status/${taken.id}`)).status).toBe(404);
    const logs = await Promise.all([requeued, waiting].map((id) => place.log(id)));
    expect(logs).toMatchObject([
      { state: "none", attempts: [] },
      { state: "none", attempts: [] },
    ]);
    // Its host has been silent for all that time and was removed.
    const last = await (await Place.open()).complete(target);
    const received = await target.received(1);
    expect(received.map(({ headers }) => headers["webhook-id"])).toEqual([`msg_${last}_0`]);
  });

  test("to webhookV2 when there is no webhook", async ({ expect }) => {
    const place = await Place.open();
    const [first, second] = [webhookTarget(), webhookTarget()];
    const only = await place.submit({ webhook: "", webhookV2: second.webhook });
    const both = await place.submit({ webhook: first.webhook, webhookV2: second.webhook });
    await place.post(`cancel/${only}`);
    await place.post(`cancel/${both}`);
    const [got] = await first.received(1);
    expect(JSON.parse(got?.body ?? "")).toMatchObject({ id: both, webhook: first.webhook });
    expect((await second.received(1)).map(({ body }) => JSON.parse(body))).toMatchObject([
      { id: only, webhook: second.webhook },
    ]);
  });
});

describe("receivers that fail", () => {
  test("are called three times, ten seconds apart, under one id", async ({ expect }) => {
    const place = await Place.open();
    const target = webhookTarget("500");
    const id = await place.complete(target);
    await target.received(1);
    await place.rest();
    const endedAt = Date.now();
    expect(await place.log(id)).toMatchObject({ state: "pending", attempts: [{ statusCode: 500 }] });
    expect((await place.log(id)).nextAttemptAt).toBeGreaterThanOrEqual(endedAt + 10 * SECOND);

    await place.alarmAfter(9 * SECOND);
    expect((await place.log(id)).attempts).toHaveLength(1);
    await place.alarmAfter(2 * SECOND);
    await place.alarmAfter(11 * SECOND);
    await place.alarmAfter(11 * SECOND);
    const log = await place.log(id);
    expect(log).toMatchObject({ id, webhook: target.webhook, state: "failed" });
    expect(log.attempts.map(({ statusCode }) => statusCode)).toEqual([500, 500, 500]);
    expect(log).not.toHaveProperty("nextAttemptAt");
    const ids = (await target.received(3)).map(({ headers }) => headers["webhook-id"]);
    expect(ids).toEqual([`msg_${id}_0`, `msg_${id}_0`, `msg_${id}_0`]);
    expect((await call("GET", `/v2/${place.endpointId}/status/${id}`)).body).toMatchObject({
      status: "COMPLETED",
    });
  });

  test("are called no more once they answered well", async ({ expect }) => {
    const place = await Place.open();
    const target = webhookTarget("503,204");
    const id = await place.complete(target);
    await target.received(1);
    await place.rest();
    await place.alarmAfter(11 * SECOND);
    await place.alarmAfter(11 * SECOND);
    const log = await place.log(id);
    expect(log).toMatchObject({ state: "delivered", attempts: [{ statusCode: 503 }, { statusCode: 204 }] });
    expect(await target.received(2)).toHaveLength(2);
  });

  test("redirects are not followed", async ({ expect }) => {
    const place = await Place.open();
    const target = webhookTarget("redirect,200");
    const id = await place.complete(target);
    await target.received(1);
    await place.rest();
    await place.alarmAfter(11 * SECOND);
    expect((await place.log(id)).attempts).toMatchObject([
      { statusCode: 302, error: expect.any(String) },
      { statusCode: 200 },
    ]);
    expect(await receivedFor(`${target.key}-redirected`, 0)).toEqual([]);
  });

  test("broken connections are reported as such", async ({ expect }) => {
    const place = await Place.open();
    const target = webhookTarget("reset,200");
    const id = await place.complete(target);
    await target.received(1);
    await place.rest();
    const { attempts } = await place.log(id);
    expect(attempts).toEqual([
      {
        at: expect.any(Number),
        durationMs: expect.any(Number),
        error: expect.any(String),
      },
    ]);
  });

  test("receivers that hang do not delay others", async ({ expect }) => {
    const place = await Place.open();
    const hanging = webhookTarget("hang", "127.0.0.2");
    const good = webhookTarget();
    const stuck: string[] = [];
    for (let count = 0; count < 6; count += 1) stuck.push(await place.complete(hanging));
    await hanging.received(1);
    const delivered = [await place.complete(good), await place.complete(good), await place.complete(good)];
    await good.received(delivered.length);
    const logs = await Promise.all(stuck.map((id) => place.log(id)));
    expect(logs.every(({ state, attempts }) => state === "pending" && attempts.length === 0)).toBe(true);
  });
});

describe("deliveries outlast the object's memory", () => {
  test("an interrupted call is repeated, under the same id", async ({ expect }) => {
    const place = await Place.open();
    await place.alarmAfter(3 * SECOND); // that of the configuration rings first
    const target = webhookTarget("hang,200");
    const id = await place.complete(target);
    await target.received(1);
    await kill(place.endpointId);
    await place.log(id); // whatever wakes the object
    const received = await target.received(2);
    expect(received.map(({ headers }) => headers["webhook-id"])).toEqual([`msg_${id}_0`, `msg_${id}_0`]);
    await place.rest();
    expect(await place.log(id)).toMatchObject({ state: "delivered", attempts: [{ statusCode: 200 }] });
  });

  test("the next attempt is made as planned, and completed deliveries are not repeated", async ({
    expect,
  }) => {
    const place = await Place.open();
    const [failing, good] = [webhookTarget("500,200"), webhookTarget()];
    const [id, other] = [await place.complete(failing), await place.complete(good)];
    await failing.received(1);
    await good.received(1);
    await place.rest();
    const before = await place.log(id);
    await evict(place.endpointId);
    expect(await place.log(id)).toEqual(before);
    await place.alarmAfter(9 * SECOND);
    expect(await failing.received(1)).toHaveLength(1);
    await place.alarmAfter(2 * SECOND);
    expect(await failing.received(2)).toHaveLength(2);
    expect(await place.log(other)).toMatchObject({ state: "delivered", attempts: [{ statusCode: 200 }] });
    expect(await good.received(1)).toHaveLength(1);
  });

  test("an alarm is set while a call is under way, and for the next attempt", async ({ expect }) => {
    const place = await Place.open();
    await place.alarmAfter(3 * SECOND); // that of the configuration rings first
    const [hanging, failing] = [webhookTarget("hang,200"), webhookTarget("500,200", "127.0.0.3")];
    await place.complete(hanging);
    await hanging.received(1);
    expect(await alarmOf(place.endpointId)).toBeLessThanOrEqual(Date.now() + WEBHOOK_RECHECK_MS);
    const id = await place.complete(failing);
    await vi.waitUntil(async () => (await place.log(id)).attempts.length === 1);
    const { nextAttemptAt = 0 } = await place.log(id);
    await vi.waitUntil(async () => ((await alarmOf(place.endpointId)) ?? Infinity) <= nextAttemptAt);
    await kill(place.endpointId);
    expect(await fireAlarm(place.endpointId)).toBe(true);
    expect(await hanging.received(2)).toHaveLength(2);
  });

  test("an object without secrets gets them with the first webhook", async ({ expect }) => {
    const place = await Place.open();
    await runInDurableObject(endpointObject(place.endpointId), (_, { storage }) => {
      storage.sql.exec("DELETE FROM fact WHERE name = 'webhook_secrets'");
    });
    await evict(place.endpointId);
    const target = webhookTarget();
    await place.complete(target);
    const [got] = await target.received(1);
    expect(verified(got, (await webhookSecret(api)).secret)).toMatchObject({ status: "COMPLETED" });
  });
});

describe("retry", () => {
  test("drops the pending webhook of the earlier end, and sends the new one under its own id", async ({
    expect,
  }) => {
    const place = await Place.open();
    const target = webhookTarget("500,200");
    const id = await place.fail(target);
    await target.received(1);
    await place.rest();
    await place.post(`retry/${id}`);
    await place.alarmAfter(11 * SECOND);
    expect(await place.log(id)).toMatchObject({ state: "none", attempts: [] });
    await place.comeBack();
    await place.agent.complete(place.endpointId, await place.take(), 7);
    await target.received(2);
    await place.rest();
    await place.alarmAfter(11 * SECOND);
    const received = await target.received(2);
    expect(received.map(({ headers }) => headers["webhook-id"])).toEqual([`msg_${id}_0`, `msg_${id}_1`]);
    expect(JSON.parse(received[1]?.body ?? "")).toMatchObject({ status: "COMPLETED", output: 7, retries: 1 });
    expect(await place.log(id)).toMatchObject({ state: "delivered", attempts: [{ statusCode: 200 }] });
  });

  test("the outcome of a call for the earlier end is ignored", async ({ expect }) => {
    const place = await Place.open();
    const target = webhookTarget("slow-500,slow");
    const id = await place.fail(target);
    await target.received(1);
    await place.post(`retry/${id}`);
    await place.failNext();
    await target.received(2); // the answer to the first call comes before the answer to this one
    await place.rest();
    expect(await place.log(id)).toMatchObject({ state: "delivered", attempts: [{ statusCode: 200 }] });
  });
});

describe("redelivery", () => {
  test("sends the same webhook once more, after a success or a failure", async ({ expect }) => {
    const place = await Place.open();
    const target = webhookTarget("200,500,500,500,200");
    const id = await place.complete(target);
    await target.received(1);
    await place.rest();
    const reply = await place.post(`webhooks/${id}/redeliver`);
    expect(reply).toMatchObject({ status: 200, body: { id, state: "pending" } });
    await target.received(2);
    await place.rest();
    await place.alarmAfter(11 * SECOND);
    await place.alarmAfter(11 * SECOND);
    expect((await place.log(id)).state).toBe("failed");

    await evict(place.endpointId);
    await place.post(`webhooks/${id}/redeliver`);
    await target.received(5);
    await place.rest();
    const log = await place.log(id);
    expect(log.state).toBe("delivered");
    expect(log.attempts.map(({ statusCode }) => statusCode)).toEqual([200, 500, 500, 500, 200]);
    const ids = (await target.received(5)).map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids)).toEqual(new Set([`msg_${id}_0`]));
  });

  test("reaches deliveries on pages that are full and closed", async ({ expect }) => {
    const place = await Place.open();
    const target = webhookTarget();
    const ids: string[] = [];
    for (let count = 0; count < 70; count += 1) {
      const id = await place.submit({ webhook: target.webhook });
      await place.post(`cancel/${id}`);
      ids.push(id);
    }
    await target.received(70);
    await place.rest();
    await evict(place.endpointId);
    const first = ids[0] ?? "";
    expect(await place.log(first)).toMatchObject({ state: "delivered", attempts: [{ statusCode: 200 }] });
    await place.post(`webhooks/${first}/redeliver`);
    await target.received(71);
    await place.rest();
    expect((await place.log(first)).attempts).toHaveLength(2);
    expect((await place.log(ids[69] ?? "")).attempts).toHaveLength(1);
  });

  test("is rejected, with a reason, where there is nothing to send again", async ({ expect }) => {
    const place = await Place.open();
    const without = await place.submit({});
    const waiting = await place.submit({ webhook: webhookTarget().webhook });
    expect(await place.log(without)).toEqual({ id: without, webhook: null, state: "none", attempts: [] });
    const rejections = [
      await place.post(`webhooks/${without}/redeliver`),
      await place.post(`webhooks/${waiting}/redeliver`),
    ];
    await place.post("purge-queue");
    rejections.push(await place.post(`webhooks/${waiting}/redeliver`));
    expect(rejections.map(({ status, body }) => [status, body["code"]])).toEqual([
      [400, "invalid_input"],
      [400, "invalid_input"],
      [400, "invalid_input"],
    ]);
    expect(rejections.map(({ body }) => body["error"])).toEqual([
      expect.stringContaining("has no webhook"),
      expect.stringContaining("has not ended yet"),
      expect.stringContaining("was purged"),
    ]);
    const unknown = [
      await call("GET", `/v2/${place.endpointId}/webhooks/unknown`),
      await place.post("webhooks/unknown/redeliver"),
    ];
    expect(unknown.map(({ status, body }) => [status, body["code"]])).toEqual([
      [404, "job_not_found"],
      [404, "job_not_found"],
    ]);
    await signInAsNewAccount();
    expect((await call("GET", `/v2/${place.endpointId}/webhooks/${waiting}`)).status).toBe(404);
  });
});

describe("secrets", () => {
  test("after a rotation calls carry both signatures for a day, and then the new one alone", async ({
    expect,
  }) => {
    const place = await Place.open();
    const old = await webhookSecret(api);
    expect(old).toMatchObject({ secret: expect.stringMatching(/^whsec_/), previousValidUntil: null });
    const { webhookSecretRotate: fresh } = await graphql<{ webhookSecretRotate: { secret: string } }>(
      "mutation { webhookSecretRotate { secret previousValidUntil } }",
    );
    expect(await webhookSecret(api)).toMatchObject(fresh);
    expect(fresh.secret).not.toBe(old.secret);

    const target = webhookTarget();
    await place.complete(target);
    await evict(place.endpointId);
    const [both] = await target.received(1);
    expect(verified(both, old.secret)).toEqual(verified(both, fresh.secret));

    passTime(24 * 60 * MINUTE);
    await place.comeBack();
    await place.complete(target);
    const [, alone] = await target.received(2);
    expect(verified(alone, fresh.secret)).toMatchObject({ status: "COMPLETED" });
    expect(() => verified(alone, old.secret)).toThrow("No matching signature");
    expect((await webhookSecret(api)).previousValidUntil).toBeNull();
  });

  test("each account has its own", async ({ expect }) => {
    const first = await webhookSecret(api);
    await signInAsNewAccount();
    expect((await webhookSecret(api)).secret).not.toBe(first.secret);
  });
});

describe("addresses", () => {
  /** As in production, where nothing private may be called. */
  async function submitInProduction(endpointId: string, body: object) {
    const response = await queueRoutes()
      .onError(renderError)
      .request(
        `/${endpointId}/run`,
        {
          method: "POST",
          headers: { Authorization: `Bearer ${api.key}` },
          body: JSON.stringify(body),
        },
        { ...env, WEBHOOK_ALLOW_PRIVATE: "false" },
        createExecutionContext(),
      );
    return response.text();
  }

  test("that are not public are rejected at submission, with the name of the member", async ({ expect }) => {
    const endpointId = await createEndpoint();
    const replies = [
      await submitInProduction(endpointId, { input: 1, webhook: "http://127.0.0.1:9/" }),
      await submitInProduction(endpointId, { input: 1, webhookV2: "http://169.254.169.254/" }),
    ];
    expect(replies).toEqual([
      expect.stringContaining('"error":"webhook '),
      expect.stringContaining('"error":"webhookV2 '),
    ]);
  });

  test("are checked again before each call", async ({ expect }) => {
    const place = await Place.open();
    const target = webhookTarget();
    const id = await place.submit({ webhook: target.webhook });
    await runInDurableObject(endpointObject(place.endpointId), (_, { storage }) => {
      storage.sql.exec(
        "UPDATE job SET options = json_set(options, '$.webhook', 'http://user:secret@127.0.0.1/')",
      );
    });
    await place.post(`cancel/${id}`);
    await place.rest();
    const { attempts } = await place.log(id);
    expect(attempts).toMatchObject([{ error: expect.stringContaining("password") }]);
  });
});

test("the log is removed with the job", async ({ expect }) => {
  const place = await Place.open();
  const target = webhookTarget();
  const id = await place.complete(target);
  await target.received(1);
  await place.rest();
  await place.alarmAfter(31 * MINUTE);
  expect((await call("GET", `/v2/${place.endpointId}/webhooks/${id}`)).status).toBe(404);
  const pages = await runInDurableObject(endpointObject(place.endpointId), (_, { storage }) =>
    storage.sql.exec("SELECT count(*) AS count FROM webhook_page").one(),
  );
  expect(pages).toEqual({ count: 0 });
});
