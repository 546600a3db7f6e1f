/** Speaks to the edge as its users do, over HTTP. */
import { exports } from "cloudflare:workers";
import { freshAccount } from "./accounts.ts";

export const ROOT_API_KEY = "test-root-key";

let apiKey = ROOT_API_KEY;

/** From here on all calls are those of a new account: hosts of other tests are not its hosts. */
export async function signInAsNewAccount(): Promise<void> {
  apiKey = (await freshAccount()).key;
}

export function apiKeyOfTest(): string {
  return apiKey;
}

export async function call(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Record<string, unknown>; headers: Headers }> {
  const response = await exports.default.fetch(`http://edge${path}`, {
    method,
    headers: { Authorization: `Bearer ${apiKey}`, ...headers },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

export async function graphql<Data>(query: string): Promise<Data> {
  const reply = await call("POST", "/graphql", { query });
  if (reply.body["errors"]) throw new Error(JSON.stringify(reply.body["errors"]));
  return reply.body["data"] as Data;
}

/** Creates an endpoint with a template of its own; returns its id. */
export async function createEndpoint(
  settings = "workersMin: 0, workersMax: 3, idleTimeout: 5",
): Promise<string> {
  const name = `test-${crypto.randomUUID()}`;
  const { saveTemplate } = await graphql<{ saveTemplate: { id: string } }>(
    `mutation { saveTemplate(input: { name: "${name}", imageName: "test:1", containerDiskInGb: 5,
       volumeInGb: 0, isServerless: true, dockerArgs: "", env: [] }) { id } }`,
  );
  const { saveEndpoint } = await graphql<{ saveEndpoint: { id: string } }>(
    `mutation { saveEndpoint(input: { name: "${name}", gpuIds: "AMPERE_16", templateId: "${saveTemplate.id}",
       ${settings} }) { id } }`,
  );
  return saveEndpoint.id;
}
