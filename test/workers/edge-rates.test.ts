/** Limits of requests that no endpoint's object counts. */
import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { generateCredential } from "../../src/auth/credential.ts";
import { authenticateHost } from "../../src/auth/host-principal.ts";
import { authenticate, callerName } from "../../src/auth/principal.ts";
import { countFailure, countRequest, type RateEnv } from "../../src/auth/request-rates.ts";
import {
  EDGE_RATE_LIMITS,
  rateLimitBinding,
  REQUESTS_PER_REPORT,
  type EdgeLimited,
} from "../../src/contract/rate-limits.ts";
import type { Env } from "../../src/env.ts";
import edge from "../../src/index.ts";
import { edgeRoutes } from "../../src/routes.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { withTap } from "./tapped-database.ts";

const api = new EdgeClient();
const { createEndpoint, signInAsNewAccount } = api;

const NOW = Date.UTC(2027, 0, 1) + 1_000;

beforeEach(signInAsNewAccount);
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(NOW);
});
afterEach(() => void vi.useRealTimers());

/** Bindings without those that count, and how often their database was asked. */
function counted() {
  let asked = 0;
  const tapped = withTap(async () => {
    asked += 1;
  });
  const limits = Object.keys(EDGE_RATE_LIMITS).map((limited) => rateLimitBinding(limited as EdgeLimited));
  const bindings = Object.fromEntries(
    Object.entries(tapped).filter(([name]) => !limits.some((limit) => limit === name)),
  ) as Env;
  return { bindings, asked: () => asked };
}

async function useUp(limited: EdgeLimited, name: string): Promise<void> {
  const count = EDGE_RATE_LIMITS[limited].requests + 1;
  for (let done = 0; done < count; done += 1) await countFailure({}, limited, name, NOW);
}

let place = 0;
/** An address that no test has used. */
const freshAddress = (): string => `198.51.100.${(place += 1)}`;

async function ask(path: string, init: RequestInit = {}, headers: Record<string, string> = {}) {
  const key = `Bearer ${api.key}`;
  const request = { ...init, headers: { Authorization: key, ...headers } };
  const response = await exports.default.fetch(`http://edge${path}`, request);
  const retryAfter = response.headers.get("Retry-After");
  return { status: response.status, retryAfter, body: (await response.json()) as Record<string, unknown> };
}

const REFUSED = { status: 429, retryAfter: /^\d+$/ };

describe("invented keys", () => {
  test("that were never given out cost no query", async ({ expect }) => {
    const { bindings, asked } = counted();
    const invented = [
      generateCredential("api-key").replace(/.{8}$/, "00000000"),
      `er_${"g".repeat(64)}`,
      "a key of my own",
    ];
    for (const key of invented) expect((await authenticate(bindings, key, NOW)).kind).toBe("unauthorized");
    const token = generateCredential("host-token").slice(0, -1);
    expect((await authenticateHost(bindings, token, NOW)).kind).toBe("unauthorized");
    const join = { method: "POST", body: JSON.stringify(joinRequest("erj_invented")) };
    expect((await edgeRoutes().request("/agent/v1/join", join, bindings)).status).toBe(401);
    const part = { method: "PUT", body: "x" };
    expect((await edgeRoutes().request("/artifacts/uploads/eru_1/parts/1", part, bindings)).status).toBe(404);
    expect(asked()).toBe(0);
  });

  test("cost no more queries than the limit of one network, and cached keys continue to work", async ({
    expect,
  }) => {
    const { bindings, asked } = counted();
    const known = await authenticate(bindings, api.key, NOW);
    const before = asked();
    const network = "2001:db8:7";
    const guess = async () => await authenticate(bindings, generateCredential("api-key"), NOW, network);
    const { requests, seconds } = EDGE_RATE_LIMITS.credentials;
    for (let guesses = 0; guesses <= requests; guesses += 1) {
      expect((await guess()).kind).toBe("unauthorized");
    }
    for (let guesses = 0; guesses < 50; guesses += 1)
      await expect(guess()).rejects.toMatchObject({ code: "rate_limited" });
    expect(asked() - before).toBe(requests + 1);

    expect(await authenticate(bindings, api.key, NOW, network)).toEqual(known);
    const root = { ...bindings, ROOT_API_KEY: "the operator is never kept out by others" };
    expect((await authenticate(root, root.ROOT_API_KEY, NOW, network)).kind).toBe("principal");
    expect((await authenticate(bindings, generateCredential("api-key"), NOW, "2001:db8:8")).kind).toBe(
      "unauthorized",
    );
    const later = NOW + seconds * 1_000;
    expect((await authenticate(bindings, generateCredential("api-key"), later, network)).kind).toBe(
      "unauthorized",
    );
  });

  test("are refused in the shape of each API", async ({ expect }) => {
    const address = freshAddress();
    await useUp("credentials", address);
    const headers = {
      "CF-Connecting-IP": address,
      Authorization: `Bearer ${generateCredential("api-key")}`,
    };
    const rest = await ask("/v1/endpoints", {}, headers);
    expect(rest).toMatchObject({ ...REFUSED, body: { code: "rate_limited", status: 429 } });
    const queue = await ask("/v2/some/health", {}, headers);
    expect(queue).toMatchObject({ ...REFUSED, body: { code: "rate_limited" } });
    const openai = await ask("/v2/some/openai/v1/models", {}, headers);
    expect(openai).toMatchObject({ ...REFUSED, body: { error: { code: "rate_limit_exceeded" } } });
    const loadBalanced = await ask("/lb/some/path", {}, headers);
    expect(loadBalanced).toMatchObject({ ...REFUSED, body: { code: "rate_limited", status: 429 } });
    const graphql = await ask("/graphql", { method: "POST", body: '{"query":"{ myself { id } }"}' }, headers);
    expect(graphql).toMatchObject({
      ...REFUSED,
      body: { data: null, errors: [{ extensions: { code: "RATE_LIMITED" } }] },
    });
    const agent = { ...headers, Authorization: `Bearer ${generateCredential("host-token")}` };
    expect(await ask("/agent/v1/host", {}, agent)).toMatchObject(REFUSED);
    expect(Number(rest.retryAfter)).toBe(EDGE_RATE_LIMITS.credentials.seconds - 1);
  });
});

describe("a limit", () => {
  test("of a key holds for what that key asks", async ({ expect }) => {
    const endpointId = await createEndpoint();
    const caller = await authenticate(env, api.key, NOW);
    const name = caller.kind === "principal" ? callerName(caller) : "";
    for (const limited of ["management", "logs", "measures", "scrape"] as const) await useUp(limited, name);
    const paths = ["/v1/endpoints", "/metrics", `/v2/${endpointId}/logs`, `/v2/${endpointId}/health`];
    for (const path of paths) expect(await ask(path), path).toMatchObject(REFUSED);
    const query = { method: "POST", body: '{"query":"{ myself { id } }"}' };
    expect(await ask("/graphql", query)).toMatchObject(REFUSED);
    await signInAsNewAccount();
    expect((await ask("/v1/endpoints")).status).toBe(200);
  });

  test("of a host holds for its calls, and of an address for joins and for requests without a key", async ({
    expect,
  }) => {
    const agent = await ScriptedAgent.join(api);
    await useUp("agent", agent.hostId);
    await expect(agent.sync()).rejects.toThrow("answered 429");
    const address = freshAddress();
    await useUp("join", address);
    await useUp("keyless", address);
    const headers = { "CF-Connecting-IP": address };
    const join = { method: "POST", body: JSON.stringify(joinRequest("x")) };
    expect(await ask("/agent/v1/join", join, headers)).toMatchObject(REFUSED);
    const catalog = { method: "POST", headers, body: '{"query":"{ gpuTypes { id } }"}' };
    expect((await exports.default.fetch("http://edge/graphql", catalog)).status).toBe(429);
  });

  test("of unknown endpoints holds for an account, and not for endpoints that are known", async ({
    expect,
  }) => {
    const endpointId = await createEndpoint();
    expect((await ask(`/v2/${endpointId}/health`)).status).toBe(200);
    const caller = await authenticate(env, api.key, NOW);
    await useUp("unknown", caller.kind === "principal" ? caller.accountId : "");
    expect(await ask("/v2/unknown/health")).toMatchObject(REFUSED);
    expect((await ask(`/v2/${endpointId}/health`)).status).toBe(200);
  });

  test("is counted by the platform for all isolates, by each twentieth request", async ({ expect }) => {
    let asked = 0;
    const binding = (success: boolean): RateEnv => ({
      RATE_LIMIT_JOIN: { limit: async () => ({ success: (asked += 1) > 0 && success }) } as RateLimit,
    });
    const countMany = async (bindings: RateEnv, name: string, times: number): Promise<void> => {
      for (let done = 0; done < times; done += 1) await countRequest(bindings, "join", name, NOW);
    };
    await countMany(binding(true), "a", REQUESTS_PER_REPORT - 1);
    expect(asked).toBe(0);
    await countMany(binding(true), "a", REQUESTS_PER_REPORT);
    expect(asked).toBe(1);
    const refused = countRequest(binding(false), "join", "a", NOW);
    await expect(refused).rejects.toMatchObject({ code: "rate_limited" });
    await expect(countRequest(binding(true), "join", "a", NOW)).rejects.toMatchObject({
      code: "rate_limited",
    });
    expect(asked).toBe(2);
    const failing = { RATE_LIMIT_JOIN: { limit: () => Promise.reject(new Error("down")) } as RateLimit };
    await countMany(failing, "b", EDGE_RATE_LIMITS.join.requests);
    await expect(countRequest(failing, "join", "b", NOW)).rejects.toMatchObject({ code: "rate_limited" });
  });

  test("is counted by the binding that wrangler.toml names", async ({ expect }) => {
    const { requests, seconds } = EDGE_RATE_LIMITS.join;
    const countTaken = async (): Promise<number> => {
      const key = crypto.randomUUID();
      const verdicts = [];
      for (let done = 0; done <= requests; done += 1) verdicts.push(await env.RATE_LIMIT_JOIN.limit({ key }));
      return verdicts.filter(({ success }) => success).length;
    };
    // Windows begin with the clock's minutes: where one ended meanwhile, the next has just begun.
    const window = () => Math.floor(Date.now() / (seconds * 1_000));
    const begunIn = window();
    const taken = await countTaken();
    expect(window() === begunIn ? taken : await countTaken()).toBe(requests / REQUESTS_PER_REPORT);
  });
});

describe("a ROOT_API_KEY that is easy to guess", () => {
  const askWith = async (rootKey: string, path: string) =>
    edge.fetch(
      new Request(`https://edge${path}`),
      { ...env, ROOT_API_KEY: rootKey },
      createExecutionContext(),
    );

  test("is refused, whatever is asked, without being repeated", async ({ expect }) => {
    const key = "short-root-key-of-31-characters";
    for (const path of ["/", "/v1/endpoints", "/graphql", "/v2/some/health"]) {
      const answer = await askWith(key, path);
      expect(answer.status).toBe(500);
      const text = await answer.text();
      expect(JSON.parse(text)).toMatchObject({ code: "not_configured", error: /ROOT_API_KEY/ });
      expect(text).not.toContain(key);
    }
    expect((await askWith(`${key}x`, "/")).status).toBe(200);
    expect((await askWith("", "/")).status).toBe(200);
  });
});

function joinRequest(joinToken: string) {
  const inventory = { gpus: [], cpuCount: 1, memoryMb: 1, diskFreeMb: 1, runtime: "process" };
  return { joinToken, name: "host", agentVersion: "test", inventory };
}
