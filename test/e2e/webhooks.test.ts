/** Webhooks of a whole Edgerun, to receivers of all kinds at once. */
import { afterAll, beforeAll, test } from "vitest";
import { WEBHOOK_TIMEOUT_MS } from "../../src/contract/webhook.ts";
import { WEBHOOK_RETRY_MS } from "../../src/domain/webhooks/webhook-delivery.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { createHelloEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";
import { untilLogged, verifierOf, type Verify } from "../support/webhook-log.ts";
import { WebhookReceiver } from "../support/webhook-receiver.ts";

let account: AccountHost;
let client: QueueClient;
let receiver: WebhookReceiver;
let verified: Verify;

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  account = await startAccountHost("webhooks", "process");
  client = new QueueClient({ ...account, endpointId: await createHelloEndpoint(account) });
  verified = await verifierOf(account);
});
afterAll(async () => {
  await account.stop();
  await receiver.stop();
});

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
    const log = await untilLogged(client, id, state);
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
