import { env } from "cloudflare:workers";
import type { Env } from "../../src/env.ts";
import { graphqlRoutes } from "../../src/graphql/routes.ts";
import { freshAccount, type TestAccount } from "./accounts.ts";

type Json = any; // oxlint-disable-line typescript/no-explicit-any -- answers are asserted, not typed

export type Answer = {
  readonly status: number;
  readonly data: Json;
  readonly errors: Json;
  readonly body: Json;
};

export type Client = TestAccount & {
  /** Sends a string-built document with the key in the address, as the oldest clients do. */
  readonly send: (query: string, variables?: object) => Promise<Answer>;
};

/** A client of a fresh account. */
export async function freshClient(bindings: Env = env): Promise<Client> {
  const account = await freshAccount();
  return {
    ...account,
    send: async (query, variables) => {
      const body = JSON.stringify(variables === undefined ? { query } : { query, variables });
      return await post(`/?api_key=${account.key}`, body, {}, bindings);
    },
  };
}

/** Posts any body with any headers. */
export async function post(
  path: string,
  body: string | ReadableStream,
  headers: Record<string, string> = {},
  bindings: Env = env,
): Promise<Answer> {
  const response = await graphqlRoutes().request(
    path,
    { method: "POST", body, headers: { "content-type": "application/json", ...headers } },
    bindings,
  );
  return await readAnswer(response);
}

export async function readAnswer(response: Response): Promise<Answer> {
  const body: Json = await response.json();
  return { status: response.status, data: body.data, errors: body.errors, body };
}

/** The code of an answer's only error. */
export function codeOf(answer: Answer): string {
  return answer.errors?.length === 1 ? answer.errors[0].extensions.code : JSON.stringify(answer.body);
}

let names = 0;

/** Saves a Serverless template; gives its id and name. */
export async function savedTemplate(client: Client, fields = ""): Promise<{ id: string; name: string }> {
  names += 1;
  const { data } = await client.send(`mutation { saveTemplate(input: {
    containerDiskInGb: 5, imageName: "example/worker:1", name: "template ${names}", volumeInGb: 0,
    isServerless: true ${fields} }) { id name } }`);
  return data.saveTemplate;
}

/** Saves a GPU endpoint on a template of its own; gives what is selected, and the template's id. */
export async function savedEndpoint(client: Client, fields = "", selection = "id"): Promise<Json> {
  const template = await savedTemplate(client);
  const { data, errors } = await client.send(`mutation { saveEndpoint(input: {
    gpuIds: "AMPERE_16", name: "endpoint", templateId: "${template.id}" ${fields} }) { ${selection} } }`);
  if (errors) throw new Error(JSON.stringify(errors));
  return { ...data.saveEndpoint, templateId: template.id };
}

/** Creates a network volume; gives its id. */
export async function savedVolume(client: Client, dataCenterId = "EU-RO-1"): Promise<string> {
  const { data } = await client.send(`mutation { createNetworkVolume(input: {
    name: "v", size: 10, dataCenterId: "${dataCenterId}" }) { id } }`);
  return data.createNetworkVolume.id;
}
