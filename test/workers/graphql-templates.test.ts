import { test } from "vitest";
import { codeOf, freshClient, savedEndpoint, savedTemplate } from "./graphql-client.ts";
import { holding, type Issue, issueAt } from "./message-facts.ts";

const ALL = `id name imageName containerDiskInGb volumeInGb volumeMountPath dockerArgs env { key value } ports
  portsConfig { port name } readme isServerless isPublic isRunpod containerRegistryAuthId startSsh startJupyter
  startScript advancedStart config category`;

test("a template is created from a string-built document and answered as stored", async ({ expect }) => {
  const client = await freshClient();
  const answer =
    await client.send(`mutation { saveTemplate(input: { containerDiskInGb: 5, dockerArgs: "python handler.py",
    env: [ { key: "key1", value: "value1" }, { key: "key2", value: "value2" } ], imageName: "ubuntu:latest",
    isServerless: true, name: "Generated Template", readme: "## Hello, World!", volumeInGb: 0 }) { ${ALL} } }`);

  expect(answer.errors).toBeUndefined();
  const { id, ...template } = answer.data.saveTemplate;
  expect(id).toMatch(/^[a-z0-9]{14}$/);
  expect(template).toEqual({
    name: "Generated Template",
    imageName: "ubuntu:latest",
    containerDiskInGb: 5,
    volumeInGb: 0,
    volumeMountPath: "",
    dockerArgs: "python handler.py",
    env: [
      { key: "key1", value: "value1" },
      { key: "key2", value: "value2" },
    ],
    ports: "",
    portsConfig: [],
    readme: "## Hello, World!",
    isServerless: true,
    isPublic: false,
    isRunpod: false,
    containerRegistryAuthId: null,
    startSsh: false,
    startJupyter: false,
    startScript: "",
    advancedStart: false,
    config: null,
    category: null,
  });

  const read = await client.send(`query { podTemplate(id: "${id}") { ${ALL} } }`);
  expect(read.data.podTemplate).toEqual({ id, ...template });
});

test("a pod template is created with a volume, ports and everything else", async ({ expect }) => {
  const client = await freshClient();
  const input = {
    name: "Pod template",
    imageName: "None",
    containerDiskInGb: 40,
    volumeInGb: 20,
    volumeMountPath: "/workspace",
    dockerArgs: "",
    env: [],
    ports: " 8888/http , 22/tcp",
    portsConfig: [{ port: "8888/http", name: "web" }],
    isPublic: false,
    containerRegistryAuthId: "",
    startSsh: true,
    startJupyter: true,
    startScript: "echo",
    advancedStart: true,
    config: { a: [1, null, "x"] },
    category: "NVIDIA",
    readme: "",
  };
  const answer = await client.send(
    `mutation Save($input: SaveTemplateInput) { saveTemplate(input: $input) { ${ALL} } }`,
    { input },
  );
  expect(answer.errors).toBeUndefined();
  expect(answer.data.saveTemplate).toMatchObject({
    ...input,
    ports: "8888/http,22/tcp",
    containerRegistryAuthId: null,
    isServerless: false,
  });
});

test("the fields that a creation lacks are named", async ({ expect }) => {
  const client = await freshClient();
  const answer = await client.send('mutation { saveTemplate(input: { name: "x" }) { id } }');
  expect(codeOf(answer)).toBe("INVALID_INPUT");
  expect(answer.errors[0].message).toMatch(issueAt("imageName, containerDiskInGb, volumeInGb"));
  expect(codeOf(await client.send("mutation { saveTemplate { id } }"))).toBe("INVALID_INPUT");
});

test("fields out of their range are refused by name, with what is allowed", async ({ expect }) => {
  const client = await freshClient();
  const rejections: Record<string, Issue> = {
    'name: " "': ["name"],
    [`name: "${"x".repeat(192)}"`]: ["name", 191],
    'imageName: ""': ["imageName"],
    'models: ["name"]': ["models[0]", "org/name@revision"],
    'models: ["org/ok", "org/name@../up"]': ["models[1]"],
    [`models: [${'"org/name", '.repeat(17)}]`]: ["models", 16],
    'modelTokenSecret: "a b"': ["modelTokenSecret"],
    "containerDiskInGb: 0": ["containerDiskInGb", 1],
    "volumeInGb: -1": ["volumeInGb", 0],
    'ports: "80/udp"': ["ports", "'80/udp'", "<port>/<protocol>", "http", "tcp"],
    'ports: "8080/http,70000/tcp"': ["ports", "'70000/tcp'"],
    'volumeMountPath: "workspace"': ["volumeMountPath", "/workspace"],
    [`env: [${'{ key: "A", value: "1" }, '.repeat(51)}]`]: ["env", 50],
    'env: [{ value: "x" }]': ["env[0].key"],
    'env: [{ key: "a=b", value: "x" }]': ["env[0].key", "NUL"],
    'env: [{ key: "a\\u0000", value: "x" }]': ["env[0].key", "NUL"],
    'env: [{ key: "a", value: "x\\u0000" }]': ["env[0].value", "NUL"],
    'imageName: "a\\u0000b"': ["imageName", "NUL"],
    'dockerArgs: "a\\u0000b"': ["dockerArgs", "NUL"],
    'dockerArgs: "sh -c \'open"': ["dockerArgs"],
  };
  for (const [field, issue] of Object.entries(rejections)) {
    const answer = await client.send(`mutation { saveTemplate(input: { ${field} }) { id } }`);
    expect([field, codeOf(answer)]).toEqual([field, "INVALID_INPUT"]);
    expect(answer.errors[0].message).toMatch(issueAt(...issue));
  }
});

test("a Serverless template must have no volume, at creation and after", async ({ expect }) => {
  const client = await freshClient();
  const created = await client.send(`mutation { saveTemplate(input: { containerDiskInGb: 5, imageName: "a:1",
    name: "t", volumeInGb: 1, isServerless: true }) { id } }`);
  expect(created.errors[0].message).toMatch(issueAt("volumeInGb", 0));

  const template = await savedTemplate(client);
  const changed = await client.send(
    `mutation { saveTemplate(input: { id: "${template.id}", volumeInGb: 3 }) { id } }`,
  );
  expect(codeOf(changed)).toBe("INVALID_INPUT");
});

test("a taken name is refused at creation and at renaming", async ({ expect }) => {
  const client = await freshClient();
  const [first, second] = [await savedTemplate(client), await savedTemplate(client)];

  const created = await client.send(`mutation { saveTemplate(input: { containerDiskInGb: 5, imageName: "a:1",
    name: "${first.name}", volumeInGb: 10 }) { id } }`);
  expect(codeOf(created)).toBe("TEMPLATE_NAME_TAKEN");
  expect(created.errors[0].message).toContain("already exists");

  const renamed = await client.send(
    `mutation { saveTemplate(input: { id: "${second.id}", name: "${first.name}" }) { id } }`,
  );
  expect(codeOf(renamed)).toBe("TEMPLATE_NAME_TAKEN");

  const kept = await client.send(
    `mutation { saveTemplate(input: { id: "${first.id}", name: "${first.name}" }) { name } }`,
  );
  expect(kept.data.saveTemplate.name).toBe(first.name);
});

test("an update keeps what it omits or sends as null", async ({ expect }) => {
  const client = await freshClient();
  const registry = await client.send(
    'mutation { saveRegistryAuth(input: { name: "a", username: "b", password: "c" }) { id } }',
  );
  const credentialId: string = registry.data.saveRegistryAuth.id;
  const template = await savedTemplate(
    client,
    `, env: [{ key: "A", value: "1" }], readme: "hello", containerRegistryAuthId: "${credentialId}"`,
  );
  const { data } = await client.send(`mutation { saveTemplate(input: { id: "${template.id}", imageName: "b:2",
    env: null, containerRegistryAuthId: null }) { name imageName env { key value } readme isServerless
    containerRegistryAuthId } }`);
  expect(data.saveTemplate).toEqual({
    name: template.name,
    imageName: "b:2",
    env: [{ key: "A", value: "1" }],
    readme: "hello",
    isServerless: true,
    containerRegistryAuthId: credentialId,
  });

  const cleared =
    await client.send(`mutation { saveTemplate(input: { id: "${template.id}", env: [], readme: "",
    containerRegistryAuthId: "" }) { env { key } readme containerRegistryAuthId } }`);
  expect(cleared.data.saveTemplate).toEqual({ env: [], readme: "", containerRegistryAuthId: null });
});

test("an unknown id is refused as not found, and read as null", async ({ expect }) => {
  const client = await freshClient();
  const answer = await client.send('mutation { saveTemplate(input: { id: "none", name: "x" }) { id } }');
  expect(codeOf(answer)).toBe("TEMPLATE_NOT_FOUND");
  expect(answer.errors[0].message).toContain("not found");
  expect((await client.send('{ podTemplate(id: "none") { id } }')).body).toEqual({
    data: { podTemplate: null },
  });
});

test("a template is deleted by its name, and the name is free again", async ({ expect }) => {
  const client = await freshClient();
  const template = await savedTemplate(client);

  const deleted = await client.send(`mutation { deleteTemplate(templateName: "${template.name}") }`);
  expect(deleted.body).toEqual({ data: { deleteTemplate: null } });

  const again = await client.send(`mutation { deleteTemplate(templateName: "${template.name}") }`);
  expect(codeOf(again)).toBe("TEMPLATE_NOT_FOUND");
  expect(again.errors[0].message).toContain("not found");

  const reused = await client.send(`mutation { saveTemplate(input: { containerDiskInGb: 5, imageName: "a:1",
    name: "${template.name}", volumeInGb: 0 }) { id } }`);
  expect(reused.errors).toBeUndefined();
});

test("a template is not deleted while an endpoint uses it", async ({ expect }) => {
  const client = await freshClient();
  const endpoint = await savedEndpoint(client, ", workersMax: 0", "id template { name }");
  const deletion = `mutation { deleteTemplate(templateName: "${endpoint.template.name}") }`;

  const refused = await client.send(deletion);
  expect(codeOf(refused)).toBe("TEMPLATE_IN_USE");
  expect(refused.errors[0].message).toMatch(holding(endpoint.template.name, endpoint.id));

  await client.send(`mutation { deleteEndpoint(id: "${endpoint.id}") }`);
  expect((await client.send(deletion)).body).toEqual({ data: { deleteTemplate: null } });
});

test("a template that changes what containers run releases its endpoints; an equal one does not", async ({
  expect,
}) => {
  const client = await freshClient();
  const user = await savedEndpoint(client, "", "id version");
  const other = await savedEndpoint(client, "", "id version");
  const versions = async () => {
    const { data } = await client.send("{ myself { endpoints { id version } } }");
    const byId = new Map(
      data.myself.endpoints.map((e: { id: string; version: number }) => [e.id, e.version]),
    );
    return [byId.get(user.id), byId.get(other.id)];
  };
  const save = async (fields: string) =>
    await client.send(`mutation { saveTemplate(input: { id: "${user.templateId}", ${fields} }) { id } }`);

  expect(await versions()).toEqual([1, 1]);
  await save('env: [{ key: "A", value: "1" }, { key: "B", value: "2" }]');
  expect(await versions()).toEqual([2, 1]);
  await save('env: [{ key: "B", value: "2" }, { key: "A", value: "1" }], imageName: "example/worker:1"');
  expect(await versions()).toEqual([2, 1]);
  await save('readme: "new", name: "a new name"');
  expect(await versions()).toEqual([2, 1]);
  await save('imageName: "example/worker:2"');
  expect(await versions()).toEqual([3, 1]);
});

test("own templates are listed oldest first, without inline ones", async ({ expect }) => {
  const client = await freshClient();
  const one = await savedTemplate(client);
  await client.send(`mutation { saveEndpoint(input: { name: "e", gpuIds: "ADA_24",
    template: { name: "inline", imageName: "a:1" } }) { id } }`);
  const two = await savedTemplate(client);

  const { data } = await client.send("{ myself { podTemplates { id } } }");
  expect(data.myself.podTemplates).toHaveLength(2);
  expect(data.myself.podTemplates).toEqual(expect.arrayContaining([{ id: one.id }, { id: two.id }]));
});

test("public templates are the account's own ones that are marked so", async ({ expect }) => {
  const [client, other] = [await freshClient(), await freshClient()];
  await savedTemplate(client);
  const open = await savedTemplate(client, ", isPublic: true");
  await savedTemplate(other, ", isPublic: true");
  const list = async (argument: string) =>
    (await client.send(`{ podTemplates${argument} { id isPublic isRunpod } }`)).data.podTemplates;

  const expected = [{ id: open.id, isPublic: true, isRunpod: false }];
  expect(await list("")).toEqual(expected);
  expect(await list("(input: { isRunpod: false })")).toEqual(expected);
  expect(await list("(input: { isRunpod: true })")).toEqual([]);
});

test("two accounts have the same template name and never see each other's", async ({ expect }) => {
  const [one, two] = [await freshClient(), await freshClient()];
  const template = await savedTemplate(one);
  const creation = `mutation { saveTemplate(input: { containerDiskInGb: 5, imageName: "a:1",
    name: "${template.name}", volumeInGb: 0 }) { id } }`;

  expect((await two.send(creation)).errors).toBeUndefined();
  expect((await two.send(`{ podTemplate(id: "${template.id}") { id } }`)).data.podTemplate).toBeNull();
  const change = await two.send(
    `mutation { saveTemplate(input: { id: "${template.id}", readme: "x" }) { id } }`,
  );
  expect(codeOf(change)).toBe("TEMPLATE_NOT_FOUND");

  await two.send(`mutation { deleteTemplate(templateName: "${template.name}") }`);
  expect((await one.send(`{ podTemplate(id: "${template.id}") { id } }`)).data.podTemplate).toEqual({
    id: template.id,
  });
});

test("models are stored in one order, and a change of them makes a new version", async ({ expect }) => {
  const client = await freshClient();
  const { templateId, ...endpoint } = await savedEndpoint(client, "", "id version");
  const save = async (fields: string) => {
    const { data } = await client.send(
      `mutation { saveTemplate(input: { id: "${templateId}", ${fields} }) { models modelTokenSecret } }`,
    );
    const version = await client.send(`{ myself { endpoint(id: "${endpoint.id}") { version } } }`);
    return { ...data.saveTemplate, version: version.data.myself.endpoint.version };
  };
  const models = ["a/a@v1", "b/b"];
  expect(await save('models: ["b/b", "a/a@v1", "b/b"], modelTokenSecret: "HF"')).toEqual({
    models,
    modelTokenSecret: "HF",
    version: endpoint.version + 1,
  });
  expect(await save('models: ["a/a@v1", "b/b"]')).toMatchObject({ models, version: endpoint.version + 1 });
  expect(await save('modelTokenSecret: ""')).toMatchObject({
    models,
    modelTokenSecret: null,
    version: endpoint.version + 2,
  });
});
