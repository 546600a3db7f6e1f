/** OpenAI's routes of a queue endpoint: a job for each call, and its answer as OpenAI's clients read it. */
import { exports } from "cloudflare:workers";
import { beforeEach, describe, test } from "vitest";
import { ScriptedAgent } from "./agent-client.ts";
import { apiKeyOfTest, call, createEndpoint, signInAsNewAccount } from "./edge-client.ts";

beforeEach(signInAsNewAccount);

/** An endpoint with one worker, which the test plays. */
async function engine() {
  const endpointId = await createEndpoint();
  const base = `/v2/${endpointId}`;
  await call("POST", `${base}/run`, { input: "first" });
  const agent = await ScriptedAgent.join();
  const workerId = await agent.bringUpWorker(endpointId);
  await agent.complete(endpointId, await agent.take(endpointId, workerId), 1);
  return {
    endpointId,
    agent,
    workerId,
    base,
    post: (route: string, body: unknown, headers = {}) => call("POST", `${base}/openai${route}`, body, headers),
    take: () => agent.take(endpointId, workerId),
    statusOf: async (id: string) => (await call("GET", `${base}/status/${id}`)).body["status"],
  };
}

const CHAT = "/v1/chat/completions";
const QUESTION = { model: "m", messages: [{ role: "user", content: "Hello" }] };

describe("an answer in one piece", () => {
  test("is the first thing that the worker yielded", async ({ expect }) => {
    const { endpointId, agent, post, take } = await engine();
    const asked = post(CHAT, QUESTION);
    const job = await take();
    expect(job.input).toEqual({ openai_route: CHAT, openai_input: QUESTION });
    const answer = { id: "chatcmpl-1", choices: [{ message: { content: "Hi" } }] };
    await agent.complete(endpointId, job, [answer]);
    const { status, body, headers } = await asked;
    expect({ status, body }).toEqual({ status: 200, body: answer });
    expect(headers.get("X-Request-Id")).toBe(job.id);
  });
});
