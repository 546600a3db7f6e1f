import { test } from "vitest";
import { EdgeClient } from "./edge-client.ts";
import { freshClient } from "./graphql-client.ts";
import { auditedOperations, restClient } from "./rest-client.ts";

const { call } = new EdgeClient();

test("a new template needs a name and an image; the rest has defaults", async ({ expect }) => {
  const rest = await restClient();
  const { status, body } = await rest("POST", "/templates", { name: "t", imageName: "a/b:1" });
  expect(status).toBe(200);
  expect(body).toEqual({
    id: body.id,
    name: "t",
    imageName: "a/b:1",
    category: "NVIDIA",
    containerDiskInGb: 50,
    containerRegistryAuthId: "",
    dockerEntrypoint: [],
    dockerStartCmd: [],
    env: {},
    isPublic: false,
    isRunpod: false,
    isServerless: false,
    modelTokenSecret: "",
    models: [],
    ports: [],
    readme: "",
    volumeInGb: 0,
    volumeMountPath: "/workspace",
    earned: 0,
    runtimeInMin: 0,
  });
  expect((await rest("GET", "/templates")).body).toEqual([body]);
  expect((await rest("GET", `/templates/${body.id}`)).body).toEqual(body);
});

test("a change that refers to an unknown secret says so, and so does what is no image", async ({
  expect,
}) => {
  const rest = await restClient();
  const fields = { name: "t", imageName: "w", isServerless: true };
  const saved = await rest("POST", "/templates", { ...fields, env: { A: "{{ SECRET_gone }}" } });
  expect(saved.body).toMatchObject({ imageName: "w", warnings: [{ code: "secret_not_found" }] });
  expect((await rest("GET", `/templates/${saved.body.id}`)).body).not.toHaveProperty("warnings");
  const refused = await rest("PATCH", `/templates/${saved.body.id}`, { imageName: "Not An Image" });
  expect([refused.status, refused.body.code]).toEqual([400, "invalid_input"]);
  // Some clients store a placeholder with a template of pods.
  const pods = await rest("POST", "/templates", { name: "pods", imageName: "None" });
  expect(pods.status).toBe(200);
});

test("what REST spells in its own way comes back as it was sent", async ({ expect }) => {
  const rest = await restClient();
  const fields = {
    dockerEntrypoint: ["tini", "--"],
    dockerStartCmd: ["python", "-c", "print('a b')"],
    env: { A: "1", B: "x=y" },
    ports: ["8000/http", "22/tcp"],
    category: "NVIDIA",
    containerDiskInGb: 7,
    readme: "# Hello",
    models: ["org/name@v1"],
    modelTokenSecret: "HF_TOKEN",
  };
  const { body } = await rest("POST", "/templates", { name: "t", imageName: "a/b:1", ...fields });
  expect(body).toMatchObject(fields);
});

test.for(["PATCH", "POST"])("%s keeps what it omits", async (method, { expect }) => {
  const rest = await restClient();
  const id = await rest.template({ dockerEntrypoint: ["sh"], dockerStartCmd: ["a b"], env: { A: "1" } });
  const { body: before } = await rest("GET", `/templates/${id}`);
  const path = method === "PATCH" ? `/templates/${id}` : `/templates/${id}/update`;
  const { status, body } = await rest(method, path, {
    dockerStartCmd: ["c"],
    name: "",
    containerDiskInGb: 0,
  });
  expect({ status, body }).toEqual({ status: 200, body: { ...before, dockerStartCmd: ["c"] } });
});

test("the start command is the one that GraphQL knows as dockerArgs", async ({ expect }) => {
  const client = await freshClient();
  const { data } = await client.send(`mutation { saveTemplate(input: { name: "t", imageName: "i",
    containerDiskInGb: 5, volumeInGb: 0, dockerArgs: "python -u 'my handler.py'" }) { id } }`);
  const { body } = await call("GET", `/v1/templates/${data.saveTemplate.id}`, undefined, {
    Authorization: `Bearer ${client.key}`,
  });
  expect(body["dockerStartCmd"]).toEqual(["python", "-u", "my handler.py"]);
});

test("a template in use stays, a taken name is refused, and both say so", async ({ expect }) => {
  const rest = await restClient();
  const templateId = await rest.template({ name: "mine" });
  const { body: endpoint } = await rest("POST", "/endpoints", { templateId });
  const inUse = await rest("DELETE", `/templates/${templateId}`);
  expect(inUse).toMatchObject({ status: 400, body: { code: "template_in_use", status: 400 } });
  const taken = await rest("POST", "/templates", { name: "mine", imageName: "x" });
  expect(taken).toMatchObject({ status: 400, body: { code: "template_name_taken" } });

  await rest("DELETE", `/endpoints/${endpoint.id}`);
  expect(await rest("DELETE", `/templates/${templateId}`)).toMatchObject({ status: 204, body: null });
  expect((await rest("GET", `/templates/${templateId}`)).status).toBe(404);
});

test("inline templates of endpoints are listed on request", async ({ expect }) => {
  const client = await freshClient();
  await client.send(`mutation { saveEndpoint(input: { name: "e", gpuIds: "ADA_24",
    template: { name: "bound", imageName: "i" } }) { id } }`);
  const list = async (query: string) =>
    (await call("GET", `/v1/templates${query}`, undefined, { Authorization: `Bearer ${client.key}` })).body;
  expect(await list("")).toEqual([]);
  expect(await list("?includeEndpointBoundTemplates=true")).toMatchObject([{ name: "bound" }]);
});

test("every change is noted under its method and path", async ({ expect }) => {
  const rest = await restClient();
  const id = await rest.template();
  await rest("PATCH", `/templates/${id}`, { readme: "new" });
  await rest("POST", `/templates/${id}/update`, { readme: "newer" });
  await rest("DELETE", `/templates/${id}`);
  expect(await auditedOperations(rest.accountId)).toEqual([
    "POST /v1/templates (template)",
    "PATCH /v1/templates/{templateId} (template)",
    "POST /v1/templates/{templateId}/update (template)",
    "DELETE /v1/templates/{templateId} (template)",
  ]);
});
