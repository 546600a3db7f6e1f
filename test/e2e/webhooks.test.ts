/** Webhooks of a whole Edgerun: receivers of all kinds at once, and an edge that is killed in the middle. */
import { afterAll, beforeAll, test } from "vitest";
import { Webhook } from "standardwebhooks";
import { managementApi } from "../../standalone/management-api.ts";
import type { WebhookLogBody } from "../../src/contract/webhook.ts";
import { WEBHOOK_TIMEOUT_MS } from "../../src/contract/webhook.ts";
import { startEdgerun, type Edgerun } from "../support/edgerun.ts";
import { QueueClient } from "../support/queue-client.ts";
import { until } from "../support/until.ts";
import { WebhookReceiver, type Received } from "../support/webhook-receiver.ts";
import { WEBHOOK_RETRY_MS } from "../../src/domain/webhooks/webhook-delivery.ts";

const JOBS = 60;

let edgerun: Edgerun;
let client: QueueClient;
let receiver: WebhookReceiver;
let webhook: Webhook;

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  edgerun = await startEdgerun({ runtime: "process", options: ["--allow-private-webhooks"] });
  client = new QueueClient(edgerun);
  const api = managementApi(edgerun.baseUrl, edgerun.apiKey);
  const { myself } = await api.query<{ myself: { webhookSecret: { secret: string } } }>(
    "{ myself { webhookSecret { secret } } }",
  );
  webhook = new Webhook(myself.webhookSecret.secret);
});
afterAll(async () => {
  await edgerun.stop();
  await receiver.stop();
});

/** The body of a call whose signature is right. */
function verified({ body, headers }: Received): { id: string; status: string } {
  return webhook.verify(body, { ...headers }) as { id: string; status: string };
}

/** What the log says of a webhook once its state is that: it is written after the call. */
async function untilLogged(jobId: string, state: string): Promise<WebhookLogBody> {
  const look = async () => {
    const log = await client.webhookLog(jobId);
    if (log.state !== state) throw new Error(JSON.stringify(log));
    return log;
  };
  return until(look, `the state ${state} of the webhook of ${jobId}`, 60_000);
}

/** Answers of the receivers, and what the log says in the end. Each is a host of its own. */
const RECEIVERS: Record<string, { state: string; codes: (number | undefined)[] }> = {
  "200": { state: "delivered", codes: [200] },
  slow: { state: "delivered", codes: [200] },
  "500": { state: "failed", codes: [500, 500, 500] },
  "500,200": { state: "delivered", codes: [500, 200] },
  redirect: { state: "failed", codes: [302, 302, 302] },
  reset: { state: "failed", codes: [undefined, undefined, undefined] },
  "hang,200": { state: "delivered", codes: [undefined, 200] },
};

test("good and bad receivers at the same time, each as promised", async ({ expect }) => {
  const { port } = new URL(receiver.url);
  const sent = await Promise.all(
    Object.entries(RECEIVERS).map(async ([answers, expected], index) => {
      const key = answers.replace(",", "-");
      const address = `http://127.0.1.${index + 1}:${port}/${answers}/${key}`;
      const { id } = await client.run({ name: answers }, { webhook: address });
      return { id, key, answers, ...expected };
    }),
  );
  for (const { id, key, answers, state, codes } of sent) {
    const calls = await receiver.received(key, codes.length);
    const log = await untilLogged(id, state);
    expect(log.attempts.map(({ statusCode }) => statusCode)).toEqual(codes);
    expect(calls.map((call) => verified(call).id)).toEqual(codes.map(() => id));
    expect(calls.map(({ headers }) => headers["webhook-id"])).toEqual(codes.map(() => `msg_${id}_0`));
    // By the clock of the edge: a receiver on a busy machine notes late what came.
    const pauses = log.attempts.slice(1).map(({ at }, index) => at - (log.attempts[index]?.at ?? 0));
    const leastMs = WEBHOOK_RETRY_MS + (answers === "hang,200" ? WEBHOOK_TIMEOUT_MS : 0);
    expect(pauses.every((pauseMs) => pauseMs >= leastMs)).toBe(true);
    console.info(`${answers}: ${log.state}, pauses of ${pauses.join(", ") || "none"} ms`);
    expect(await client.status(id)).toMatchObject({ status: "COMPLETED" });
  }
  expect(await receiver.received("redirect-redirected")).toEqual([]);
});

test("a killed edge loses no webhook, whether it was about to be sent or under way", async ({ expect }) => {
  const underway = `${receiver.url}/hang,200/underway`;
  const { id: hanging } = await client.run({ name: "underway" }, { webhook: underway });
  await receiver.received("underway", 1);
  await client.run({ name: "first", seconds: 1 }); // the crowd gathers behind this one
  const crowd = `${receiver.url}/200/crowd`;
  const names = Array.from({ length: JOBS }, (_, index) => `crowd-${index}`);
  const ids = await Promise.all(
    names.map(async (name) => (await client.run({ name }, { webhook: crowd })).id),
  );
  const before = await receiver.received("crowd", 10);
  process.kill(edgerun.pids().edge, "SIGKILL");
  const killedAt = Date.now();

  const [first, second] = await receiver.received("underway", 2);
  expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
  // Some may come a second time: their answers were lost with the edge.
  const missing = new Set(ids);
  let told: readonly Received[] = [];
  while (missing.size > 0) {
    const known = told.length;
    told = await receiver.received("crowd", known + 1);
    for (const call of told.slice(known)) missing.delete(verified(call).id);
  }
  for (const id of [hanging, ...ids.slice(0, 20)]) await untilLogged(id, "delivered");
  const resumedMs = Math.min(...told.slice(before.length).map(({ at }) => at)) - killedAt;
  console.info(
    `${before.length} of ${JOBS} webhooks had come at the kill, the next came ${resumedMs} ms later; the call ` +
      `under way was made again after ${(second?.at ?? 0) - killedAt} ms; ${told.length - JOBS} came a second time.`,
  );
});

test("a webhook leaves at once when its job ends", async ({ expect }) => {
  const delays: number[] = [];
  for (let count = 0; count < 5; count += 1) {
    const key = `prompt-${count}`;
    const { id } = await client.run({ name: key }, { webhook: `${receiver.url}/200/${key}` });
    await client.result(id);
    const knownAt = Date.now();
    const [call] = await receiver.received(key, 1);
    delays.push((call?.at ?? 0) - knownAt);
    expect(call && verified(call)).toMatchObject({ id, status: "COMPLETED" });
  }
  console.info(
    `ms from the answer to the waiting client to the webhook: ${delays.toSorted((a, b) => a - b).join(", ")}`,
  );
});
