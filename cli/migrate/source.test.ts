import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, test } from "vitest";
import { readSource } from "./source.ts";

let server: Server | undefined;
afterEach(() => server?.close());

/** A service whose registries come in pages of one; all else is empty. */
async function serviceWith(registries: readonly string[]): Promise<string> {
  const empty = { keys: [], networkVolumes: [], templates: [], endpoints: [], delegations: [] };
  server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://service");
    const at = Number(searchParams.get("cursor") ?? "0");
    const pagination = { hasNextPage: at + 1 < registries.length, nextCursor: `${at + 1}` };
    const page = registries.slice(at, at + 1).map((name) => ({ id: name, name }));
    const answer = pathname === "/v2/registries" ? { registries: page, pagination } : empty;
    const data = { myself: { secrets: [], endpoints: [] } };
    response.end(JSON.stringify(pathname === "/graphql" ? { data } : answer));
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("all pages of a list are read", async ({ expect }) => {
  const url = await serviceWith(["a", "b", "c"]);
  const { registries } = await readSource({ url, apiKey: "key", signal: new AbortController().signal });
  expect(registries.map(({ name }) => name)).toEqual(["a", "b", "c"]);
});
