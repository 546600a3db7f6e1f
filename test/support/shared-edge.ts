/** The edge that test files share. */
import { inject } from "vitest";
import { managementApi } from "../../standalone/management-api.ts";
import type { EdgeAccess } from "./lone-edge.ts";
import type {} from "./edge-setup.ts";

/** A new account of that edge: it finds nothing of others. */
export async function newAccount(name: string): Promise<EdgeAccess> {
  const response = await fetch(inject("sharedEdge"));
  if (!response.ok) throw new Error(`there is no edge: ${await response.text()}`);
  const { baseUrl, apiKey } = (await response.json()) as EdgeAccess;
  const { accountCreate } = await managementApi(baseUrl, apiKey).query<{ accountCreate: { apiKey: string } }>(
    "mutation ($input: AccountCreateInput) { accountCreate(input: $input) { apiKey } }",
    { input: { name } },
  );
  return { baseUrl, apiKey: accountCreate.apiKey };
}
