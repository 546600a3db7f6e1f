/** A receiver of webhooks for all tests, outside of the Workers runtime. */
import type { TestProject } from "vitest/node";
import { WebhookReceiver } from "../support/webhook-receiver.ts";

declare module "vitest" {
  export interface ProvidedContext {
    webhookReceiver: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const receiver = await WebhookReceiver.start();
  project.provide("webhookReceiver", receiver.url);
  return () => receiver.stop();
}
