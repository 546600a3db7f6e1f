/** Fields of REST that nobody knows: a mistake is named, and what clients send back of an answer is accepted. */
import { test } from "vitest";
import { restClient } from "./rest-client.ts";
import { holding } from "./message-facts.ts";

test.for([
  ["/endpoints", "workersMaxx", "workersMax"],
  ["/templates", "imageNme", "imageName"],
  ["/networkvolumes", "datacenterId", "dataCenterId"],
  ["/containerregistryauth", "usernam", "username"],
] as const)("POST %s names %s and the nearest field", async ([path, field, nearest], { expect }) => {
  const rest = await restClient();
  const { status, body } = await rest("POST", path, { [field]: "x" });
  expect({ status, body }).toMatchObject({ status: 400, body: { code: "invalid_input" } });
  expect(body.message).toContain(field);
  expect(body.message).toMatch(holding(nearest));
});

test("a patch with a mistake changes nothing, and one with all that was shown is accepted", async ({
  expect,
}) => {
  const rest = await restClient();
  const templateId = await rest.template();
  const { body: made } = await rest("POST", "/endpoints", { templateId, workersMax: 2 });
  const { status } = await rest("PATCH", `/endpoints/${made.id}`, { workersMax: 7, workersMinn: 1 });
  expect(status).toBe(400);
  const { body: kept } = await rest("GET", `/endpoints/${made.id}`);
  expect(kept.workersMax).toBe(2);

  const { vcpuCount: _, ...shown } = kept;
  const back = await rest("PATCH", `/endpoints/${made.id}`, { ...shown, workersMax: 3 });
  expect({ status: back.status, workersMax: back.body.workersMax }).toEqual({ status: 200, workersMax: 3 });
  const { body: template } = await rest("GET", `/templates/${templateId}`);
  expect((await rest("PATCH", `/templates/${templateId}`, template)).status).toBe(200);
});
