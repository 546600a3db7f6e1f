/** OpenAI's routes of a load-balanced endpoint: its workers answer them. */
import { beforeEach, describe, test } from "vitest";
import { FRAME } from "../../src/link/link-frame.ts";
import { EdgeClient } from "./edge-client.ts";
import { LB, linkedEndpoint, text } from "./link-client.ts";
import { CHAT, QUESTION } from "./openai-engine.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);

describe("OpenAI's routes of a load-balanced endpoint", () => {
  test("reach its worker as the worker serves them, whatever the method", async ({ expect }) => {
    const { endpointId, link } = await linkedEndpoint(api);
    for (const [method, route] of [
      ["POST", CHAT],
      ["GET", "/v1/models/a%2Fb?x=1"],
      ["DELETE", "/v1/responses/r"],
    ] as const) {
      const body = method === "POST" ? QUESTION : undefined;
      const asked = call(method, `/v2/${endpointId}/openai${route}`, body);
      const { stream, head, hasBody } = await link.open();
      expect(head).toMatchObject({ method, target: route });
      expect(hasBody).toBe(body !== undefined);
      if (hasBody) expect(JSON.parse(text((await link.next(FRAME.DATA)).payload))).toEqual(body);
      link.answer(stream, `{"route":"${route}"}`);
      expect(await asked).toMatchObject({ status: 200, body: { route } });
    }
  });

  test("are not asked again by OpenAI's clients when the worker took too long, but when it broke off", async ({
    expect,
  }) => {
    const { endpointId, link } = await linkedEndpoint(api);
    for (const [reason, status, code, advice] of [
      ["timeout", 524, "worker_too_slow", "false"],
      ["worker_failed", 502, "worker_failed", null],
    ] as const) {
      const asked = call("POST", `/v2/${endpointId}/openai${CHAT}`, QUESTION);
      const { stream } = await link.open();
      await link.next(FRAME.DATA);
      link.reset(stream, reason);
      const { headers, ...answer } = await asked;
      expect(answer).toMatchObject({ status, body: { error: { code, type: "server_error" } } });
      expect(headers.get("x-should-retry")).toBe(advice);
    }
  });

  test("are rejected in OpenAI's error shape", async ({ expect }) => {
    const endpointId = await createEndpoint(LB);
    const path = `/v2/${endpointId}/openai${CHAT}`;
    expect(await call("POST", path, QUESTION, { Authorization: "Bearer wrong" })).toMatchObject({
      status: 401,
      body: { error: { code: "invalid_api_key" } },
    });
    const gone = await call("POST", path, QUESTION, { "X-Runpod-Worker-Id": "strict nobody" });
    expect(gone).toMatchObject({
      status: 404,
      body: { error: { code: "affinity_worker_gone", type: "invalid_request_error", param: null } },
    });
  });
});
