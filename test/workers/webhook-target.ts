/** Receivers of webhooks for one test each, on the server that test/workers/receiver-setup.ts starts. */
import { inject } from "vitest";
import { Webhook } from "standardwebhooks";
import type { Received } from "../support/webhook-receiver.ts";
import type { EdgeClient } from "./edge-client.ts";
import { soon } from "./support/until.ts";

const SERVER = new URL(inject("webhookReceiver"));

export type WebhookTarget = {
  readonly webhook: string;
  readonly key: string;
  /** What came, as soon as that are `count` calls. */
  received(count: number): Promise<Received[]>;
};

/** An address that answers as told (see test/support/webhook-receiver.ts), under any name of this machine. */
export function webhookTarget(answers = "200", hostname = SERVER.hostname): WebhookTarget {
  const key = crypto.randomUUID();
  return {
    webhook: `http://${hostname}:${SERVER.port}/${answers}/${key}`,
    key,
    received: (count) => receivedFor(key, count),
  };
}

export async function receivedFor(key: string, count: number): Promise<Received[]> {
  const received = fetch(`${SERVER.origin}/received/${key}?count=${count}`);
  const response = await soon(received, `${count} calls have come`);
  return response.json();
}

export type ShownSecret = { secret: string; createdAt: string; previousValidUntil: string | null };

export async function webhookSecret({ graphql }: EdgeClient): Promise<ShownSecret> {
  const data = await graphql<{ myself: { webhookSecret: ShownSecret } }>(
    "{ myself { webhookSecret { secret createdAt previousValidUntil } } }",
  );
  return data.myself.webhookSecret;
}

/** The body of a call, if the published verifier finds its signature right. */
export function verified(call: Received | undefined, secret: string): Record<string, unknown> {
  if (!call) throw new Error("There was no call.");
  return new Webhook(secret).verify(call.body, { ...call.headers }) as Record<string, unknown>;
}
