/** One edge for all test files that need an account and no edge of their own; started when the first of them asks. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { builtEdge } from "../../scripts/bundle/standalone-bundle.ts";
import { type EdgeAccess, type LoneEdge, startLoneEdge } from "./lone-edge.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Address that tells where the shared edge is, and its first key. */
    sharedEdge: string;
  }
}

const ROOT = resolve(import.meta.dirname, "../..");
/** Receivers of webhooks are on this machine. */
const OPTIONS = ["--allow-private-webhooks"];

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let edge: Promise<LoneEdge> | undefined;
  const access = async (): Promise<EdgeAccess> => {
    edge ??= builtEdge(ROOT).then((bundle) => startLoneEdge({ bundle, options: OPTIONS }));
    const { baseUrl, apiKey } = await edge;
    return { baseUrl, apiKey };
  };
  const server = createServer((_, response) => {
    access().then(
      (found) => response.end(JSON.stringify(found)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  project.provide("sharedEdge", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return async () => {
    server.close();
    await (await edge)?.[Symbol.asyncDispose]();
  };
}
