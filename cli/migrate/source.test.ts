import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline, Readable } from "node:stream";
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

test("an answer without end is not read to its end", async ({ expect }) => {
  let close = (): void => {};
  const closed = new Promise<void>((resolve) => (close = resolve));
  server = createServer((_request, response) => {
    const spaces = Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(1024 * 1024, " ");
      })(),
    );
    pipeline(spaces, response, () => close());
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const signal = new AbortController().signal;
  await expect(readSource({ url, apiKey: "key", signal })).rejects.toThrow("answered with more than");
  await closed;
});

test("all pages of a list are read", async ({ expect }) => {
  const url = await serviceWith(["a", "b", "c"]);
  const { registries } = await readSource({ url, apiKey: "key", signal: new AbortController().signal });
  expect(registries.map(({ name }) => name)).toEqual(["a", "b", "c"]);
});
