/** Keys travel over HTTPS only. */
import { createExecutionContext, env, waitOnExecutionContext } from "cloudflare:test";
import { describe, test } from "vitest";
import type { Env } from "../../src/env.ts";
import edge from "../../src/index.ts";
import { ROOT_API_KEY } from "./edge-client.ts";

const KEY = { Authorization: `Bearer ${ROOT_API_KEY}` };
const MUTATION = JSON.stringify({ query: "mutation { joinTokenCreate { token installCommand } }" });

/** The edge as it is deployed: nothing allows plain HTTP. */
async function send(url: string, init: RequestInit = {}): Promise<Response> {
  const context = createExecutionContext();
  const deployed = { ...(env as Env), ALLOW_PLAIN_HTTP: "false" };
  const answer = await edge.fetch(new Request(url, { redirect: "manual", ...init }), deployed, context);
  await waitOnExecutionContext(context);
  return answer;
}

async function joinTokens(): Promise<number> {
  const answer = await send("https://edge.example/graphql", {
    method: "POST",
    headers: KEY,
    body: JSON.stringify({ query: "{ myself { joinTokens { id } } }" }),
  });
  const { data } = await answer.json<{ data: { myself: { joinTokens: unknown[] } } }>();
  return data.myself.joinTokens.length;
}

describe("a request over plain HTTP", () => {
  test.for([
    ["with a key", "http://edge.example/graphql", { method: "POST", headers: KEY, body: MUTATION }],
    ["with a key in the address", `http://edge.example/graphql?api_key=${ROOT_API_KEY}`, { method: "GET" }],
    ["with a key, that reads", "http://edge.example/v1/endpoints", { headers: KEY }],
    ["that sends something", "http://edge.example/agent/v1/join", { method: "POST", body: "{}" }],
    ["of an endpoint's own host", "http://abc.lb.example/", { method: "PUT", body: "x" }],
    ["for a socket", "http://edge.example/agent/v1/presence", { headers: { Upgrade: "websocket" } }],
    ["by a name that is no loopback", "http://127.0.0.1.example/", { headers: KEY }],
  ] as const)("%s is refused, and not processed", async ([, url, init], { expect }) => {
    const before = await joinTokens();
    const answer = await send(url, init);
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ code: "https_required" });
    expect(await joinTokens()).toBe(before);
  });

  test("of a reader without a key is redirected", async ({ expect }) => {
    const answer = await send("http://edge.example:8080/docs/?a=b");
    expect(answer.status).toBe(308);
    expect(answer.headers.get("Location")).toBe("https://edge.example:8080/docs/?a=b");
  });

  test.for(["http://127.0.0.1:8787/", "http://localhost/", "http://[::1]:9/", "http://x.lb.localhost/"])(
    "%s is processed, and says nothing of HTTPS",
    async (url, { expect }) => {
      const answer = await send(url, { headers: KEY });
      expect([403, 308]).not.toContain(answer.status);
      expect(answer.headers.get("Strict-Transport-Security")).toBeNull();
    },
  );
});

test.for(["/", "/docs/", "/nothing-here", "/agent/install.sh", "/openapi.json", "/v1/endpoints"])(
  "https://…%s has browsers use HTTPS only",
  async (path, { expect }) => {
    const answer = await send(`https://edge.example${path}`, { headers: KEY });
    expect(answer.headers.get("Strict-Transport-Security")).toMatch(/^max-age=\d{8}$/);
    await answer.body?.cancel();
  },
);

test("the line that installs an agent names plain HTTP on loopback alone", async ({ expect }) => {
  const commandFrom = async (origin: string) => {
    const answer = await send(`${origin}/graphql`, { method: "POST", headers: KEY, body: MUTATION });
    const { data } = await answer.json<{ data: { joinTokenCreate: { installCommand: string } } }>();
    return data.joinTokenCreate.installCommand;
  };
  expect(await commandFrom("https://edge.example")).toContain(
    "curl --proto '=https' --tlsv1.2 -fsSL https://edge.example/agent/install.sh",
  );
  expect(await commandFrom("http://127.0.0.1:8787")).toContain(
    "curl -fsSL http://127.0.0.1:8787/agent/install.sh",
  );
});
