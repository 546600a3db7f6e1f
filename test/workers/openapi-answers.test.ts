/** Real answers against what the OpenAPI document says of them. */
import { expect, test } from "vitest";
import { restV2Apis } from "../../src/gateway/rest-v2/routes.ts";
import { ScriptedAgent, INVENTORY } from "./agent-client.ts";
import { checkedOperations, documentedCall, DOCUMENT } from "./documented-call.ts";
import { EdgeClient, ROOT_API_KEY } from "./edge-client.ts";
import { webhookTarget } from "./webhook-target.ts";

const api = new EdgeClient();
const { createEndpoint, graphql } = api;

test("the answers about a job are as documented", async () => {
  const endpointId = await createEndpoint("workersMin: 1");
  const base = `/v2/${endpointId}`;
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(endpointId);
  const job = { input: { a: 1 }, webhook: webhookTarget().webhook };
  const { body: queued } = await documentedCall("POST", `${base}/run`, job, { "Idempotency-Key": "k" });
  await documentedCall("GET", `${base}/status/${queued.id}?timeline=1`);
  await documentedCall("POST", `${base}/status/${queued.id}`);
  await documentedCall("GET", `${base}/health`);
  await documentedCall("GET", `${base}/metrics`);
  await documentedCall("POST", `${base}/trial?seconds=30`);
  await documentedCall("POST", `${base}/trial?seconds=0`);
  await documentedCall("DELETE", `${base}/trial`);
  await agent.sendLogs([
    {
      endpointId,
      workerId,
      lines: [{ seq: Date.now() * 1_000, source: "system", line: "x", jobId: "j" }],
    },
  ]);
  await documentedCall("GET", `${base}/logs`);
  await documentedCall("GET", "/v2/serverless/nobody/workers/w/logs");
  await documentedCall("GET", "/v2/serverless/nobody/workers/w/logs?colour=red");
  await documentedCall("GET", `${base}/metrics/requests?window=24h`);
  expect(DOCUMENT.paths["/v2/{endpointId}/metrics/requests"]?.["get"]).toMatchObject({
    parameters: expect.arrayContaining([
      expect.objectContaining({
        name: "window",
        schema: expect.objectContaining({ enum: ["5m", "1h", "24h", "7d", ""] }),
      }),
    ]),
  });
  await documentedCall("GET", `${base}/metrics/workers`);

  const taken = await agent.take(endpointId, workerId);
  await agent.stream(endpointId, taken, 1, ["first"]);
  await documentedCall("GET", `${base}/stream/${queued.id}`);
  await documentedCall("GET", `${base}/webhooks/${queued.id}`);
  await agent.report(endpointId, { kind: "failed", jobId: taken.id, attempt: 1, workerId, error: "no" });
  await documentedCall("GET", `${base}/status-sync/${queued.id}`);
  await documentedCall("POST", `${base}/status-sync/${queued.id}`);
  await documentedCall("POST", `${base}/webhooks/${queued.id}/redeliver`);
  await documentedCall("GET", `${base}/requests?limit=10`);
  await documentedCall("POST", `${base}/retry/${queued.id}`);
  await documentedCall("POST", `${base}/retry/${queued.id}`);
  await documentedCall("POST", `${base}/purge-queue`);
  await documentedCall("POST", `${base}/cancel/${queued.id}`);
  await documentedCall("POST", `${base}/stream/${queued.id}`);
  await documentedCall("POST", `${base}/runsync?wait=1000`, { input: {} });
});

test("batches are as documented", async () => {
  const base = `/v2/${await createEndpoint()}/batch`;
  const { body: batch } = await documentedCall("POST", base, [{ input: 1 }, { input: 2 }]);
  await documentedCall("POST", `${base}/${batch.id}/requests`, { requests: [{ input: 3 }] });
  await documentedCall("PUT", `${base}/${batch.id}`, { name: "night" });
  const { body: page } = await documentedCall("GET", `${base}/${batch.id}/requests`);
  await documentedCall("DELETE", `${base}/${batch.id}/requests/${page.requests[0].id}`);
  await documentedCall("POST", `${base}/${batch.id}/finalize`);
  await documentedCall("GET", `${base}/${batch.id}`);
  await documentedCall("POST", `${base}/${batch.id}/cancel`);
  await documentedCall("GET", `${base}/${batch.id}/requests`);
  await documentedCall("GET", base);
});

test("OpenAI's routes are as documented", async () => {
  const endpointId = await createEndpoint("workersMax: 0"); // nobody waits for a worker
  const base = `/v2/${endpointId}/openai/v1`;
  for (const route of ["chat/completions", "completions", "embeddings", "responses"]) {
    await documentedCall("POST", `${base}/${route}`, { model: "m", stream: true });
  }
  await documentedCall("GET", `${base}/models`);
  await documentedCall("GET", `${base}/models/m`);
  await documentedCall("POST", `${base}/completions`, { stream: 1 });
  await documentedCall("POST", `${base}/completions`, { prompt: "x".repeat(20_000_001) });
  await documentedCall("GET", "/v2/nobody/openai/v1/models");
  await documentedCall("GET", `${base}/models`, undefined, { Authorization: "Bearer wrong" });
});

test("what hosts ask is as documented", async () => {
  const endpointId = await createEndpoint();
  const { joinTokenCreate } = await graphql<{ joinTokenCreate: { token: string } }>(`
    mutation {
      joinTokenCreate {
        token
      }
    }
  `);
  const { body: host } = await documentedCall("POST", "/agent/v1/join", {
    joinToken: joinTokenCreate.token,
    name: "host",
    agentVersion: "test",
    inventory: INVENTORY,
  });
  const asHost = { Authorization: `Bearer ${host.hostToken}` };
  const sync = { agentVersion: "test", inventory: INVENTORY, workers: [], appliedRevision: 0, holdMs: 0 };
  await documentedCall("POST", "/agent/v1/sync", sync, asHost);
  const exchange = { session: "s", turn: 1, openTurns: [], held: [], reports: [], slots: [], holdMs: 0 };
  await documentedCall("POST", `/agent/v1/endpoints/${endpointId}/exchange`, exchange, asHost);
  await documentedCall("PUT", `/agent/v1/endpoints/${endpointId}/results/nobody/1`, { a: 1 }, asHost);
  await documentedCall("POST", "/agent/v1/logs", "not zipped", asHost);
  await documentedCall("GET", "/agent/v1/host", undefined, asHost);
  await documentedCall("GET", "/v1/hosts");
  await documentedCall("GET", `/v1/hosts/${host.hostId}`);
  await documentedCall("GET", "/v1/hosts/never");
  await documentedCall("PATCH", `/v1/hosts/${host.hostId}`, { cordoned: true });
  await documentedCall("POST", "/agent/v1/host/drain", {}, asHost);
  await documentedCall("POST", "/agent/v1/host/leave", {}, asHost);
  await documentedCall("DELETE", `/v1/hosts/${host.hostId}`);
  await documentedCall("POST", "/agent/v1/sync", sync, { Authorization: `Bearer ${ROOT_API_KEY}` });
});

test("budgets are as documented", async () => {
  const endpointId = await createEndpoint();
  await documentedCall("PUT", "/v1/budgets/account", { limit: 10 });
  await documentedCall("PUT", `/v1/budgets/${endpointId}`, { limit: 1, period: "day", warnPercent: 50 });
  await documentedCall("PUT", "/v1/budgets/never", { limit: 1 });
  await documentedCall("PUT", "/v1/budgets/account", { limit: -1 });
  await documentedCall("GET", "/v1/budgets");
  await documentedCall("GET", "/v1/costs?bucketSize=day");
  await documentedCall("POST", "/v1/budgets/account/reset");
  await documentedCall("DELETE", "/v1/budgets/account");
  await documentedCall("DELETE", "/v1/budgets/account");
});

test("REST is as documented", async () => {
  const name = `documented-${crypto.randomUUID()}`;
  const { body: template } = await documentedCall("POST", "/v1/templates", {
    name,
    imageName: "worker:1",
    isServerless: true,
  });
  await documentedCall("GET", "/v1/templates?includeEndpointBoundTemplates=true");
  await documentedCall("GET", `/v1/templates/${template.id}`);
  await documentedCall("PATCH", `/v1/templates/${template.id}`, { env: { A: "1" } });
  await documentedCall("POST", `/v1/templates/${template.id}/update`, {});
  const { body: endpoint } = await documentedCall("POST", "/v1/endpoints", { templateId: template.id });
  await documentedCall("GET", "/v1/endpoints?includeTemplate=true&includeWorkers=true");
  await documentedCall("GET", `/v1/endpoints/${endpoint.id}?includeTemplate=true&includeWorkers=true`);
  await documentedCall("PATCH", `/v1/endpoints/${endpoint.id}`, { workersMax: 1 });
  await documentedCall("POST", `/v1/endpoints/${endpoint.id}/update`, { computeType: "CPU" });
  await documentedCall("DELETE", `/v1/templates/${template.id}`);
  await documentedCall("DELETE", `/v1/endpoints/${endpoint.id}`);
  await documentedCall("DELETE", `/v1/templates/${template.id}`);

  const volume = { name, size: 10, dataCenterId: "EU-RO-1" };
  const { body: stored } = await documentedCall("POST", "/v1/networkvolumes", volume);
  await documentedCall("GET", "/v1/networkvolumes");
  await documentedCall("GET", `/v1/networkvolumes/${stored.id}`);
  await documentedCall("PATCH", `/v1/networkvolumes/${stored.id}`, { size: 20 });
  await documentedCall("POST", `/v1/networkvolumes/${stored.id}/update`, { size: 5 });
  await documentedCall("DELETE", `/v1/networkvolumes/${stored.id}`);

  const credentials = { name, username: "u", password: "p" };
  const { body: registry } = await documentedCall("POST", "/v1/containerregistryauth", credentials);
  await documentedCall("GET", "/v1/containerregistryauth");
  await documentedCall("GET", `/v1/containerregistryauth/${registry.id}`);
  await documentedCall("DELETE", `/v1/containerregistryauth/${registry.id}`);

  await documentedCall("GET", "/v1/pods");
  await documentedCall("POST", "/v1/pods", { imageName: "x", dataCenterIds: ["EU-RO-1"] });
  await documentedCall("GET", "/v1/pods/p1");
  await documentedCall("GET", "/v1/pod/w1/logs");
  for (const action of ["start", "stop", "reset", "restart", "update"])
    await documentedCall("POST", `/v1/pods/p1/${action}`, {});
  await documentedCall("PATCH", "/v1/pods/p1", {});
  await documentedCall("PUT", "/v1/pods/p1", {});
  await documentedCall("DELETE", "/v1/pods/p1");
  await documentedCall("GET", "/v1/billing/pods?bucketSize=day");
  await documentedCall("GET", "/v1/billing/endpoints?bucketSize=day");
  await documentedCall("GET", "/v1/openapi.json");
  await documentedCall("GET", "/v2/openapi.json");
  await documentedCall("GET", "/openapi.json");
});

test("errors are as documented", async () => {
  const base = `/v2/${await createEndpoint()}`;
  await documentedCall("POST", `${base}/run`, { no: "input" });
  await documentedCall("POST", `${base}/run`, { input: "x".repeat(10_000_001) });
  await documentedCall("GET", `${base}/status/nobody`);
  await documentedCall("GET", `/v2/nobody/health`);
  await documentedCall("GET", "/v1/templates", undefined, { Authorization: "Bearer wrong" });
  await documentedCall("POST", "/v1/templates", { name: "without image" });
  await documentedCall("POST", "/v1/endpoints", { templateId: "nobody" });
  await documentedCall("PATCH", "/v1/networkvolumes/nobody", {});
});

test("what load-balanced endpoints answer instead of a worker is as documented", async () => {
  const withQueue = await createEndpoint();
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
    await documentedCall(method, "/lb/nobody/x");
    await documentedCall(method, `/lb/${withQueue}/x`);
    await documentedCall(method, `/lb/${withQueue}/x`, undefined, { Authorization: "Bearer wrong" });
  }
});

test("artifacts that are not there are refused as documented", async () => {
  const nothing = "0".repeat(64);
  await documentedCall("PUT", `/artifacts/uploads/${nothing}`, "");
  await documentedCall("PUT", `/artifacts/uploads/${nothing}/parts/1`, "");
  await documentedCall("GET", `/artifacts/downloads/${nothing}`);
  await documentedCall("GET", `/agent/v1/artifacts/${nothing}`);
});

test("nearly every documented operation was tried here", ({ expect: check }) => {
  // rest-v2.test.ts has those of REST v2.
  const elsewhere = new Set(restV2Apis.flatMap(({ operations }) => operations.map(({ id }) => id)));
  const all = Object.values(DOCUMENT.paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId),
  );
  const left = all.filter((id) => !checkedOperations.has(id) && !elsewhere.has(id));
  // One list of costs stands for the others; a scrape is text.
  check(left.toSorted()).toEqual(["exportCosts", "listNetworkVolumeBilling", "scrapeMetrics"]);
  expect(all.length).toBeGreaterThan(60);
});
