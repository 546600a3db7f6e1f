/** Webhooks from the end of a job to the receiver, which is a real server outside of the Workers runtime. */
import { beforeEach, inject, test } from "vitest";
import { Webhook } from "standardwebhooks";
import { ScriptedAgent } from "./agent-client.ts";
import { call, createEndpoint, graphql, signInAsNewAccount } from "./edge-client.ts";
import type { Received } from "../support/webhook-receiver.ts";

beforeEach(signInAsNewAccount);

const RECEIVER = inject("webhookReceiver");

/** An address that answers as told, and what came there. */
function receiver(answers: string) {
  const key = crypto.randomUUID();
  return {
    webhook: `${RECEIVER}/${answers}/${key}`,
    async received(count: number): Promise<Received[]> {
      return (await fetch(`${RECEIVER}/received/${key}?count=${count}`)).json();
    },
  };
}

test("a completed job is told, signed", async ({ expect }) => {
  const endpointId = await createEndpoint();
  const agent = await ScriptedAgent.join();
  const target = receiver("200");
  const { body } = await call("POST", `/v2/${endpointId}/run`, { input: { a: 1 }, webhook: target.webhook });
  const workerId = await agent.bringUpWorker(endpointId);
  const job = await agent.take(endpointId, workerId);
  await agent.complete(endpointId, job, { b: 2 });
  const [got] = await target.received(1);
  console.log(got);
  expect(JSON.parse(got?.body ?? "")).toMatchObject({
    id: body["id"],
    status: "COMPLETED",
    input: { a: 1 },
    output: { b: 2 },
    webhook: target.webhook,
  });
  const { myself } = await graphql<{ myself: { webhookSecret: { secret: string } } }>(
    "{ myself { webhookSecret { secret createdAt previousValidUntil } } }",
  );
  new Webhook(myself.webhookSecret.secret).verify(got?.body ?? "", got?.headers ?? {});
});
