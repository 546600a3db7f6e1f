/** Secrets and registry credentials from the API to a real container, and nowhere else. */
import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import Docker from "dockerode";
import { afterAll, beforeAll, describe, test } from "vitest";
import { managementApi } from "../../standalone/management-api.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { startBareEdgerun, type BareEdgerun } from "../support/edgerun.ts";
import { ImageRegistry } from "../support/image-registry.ts";
import { createEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";
import { ensureScriptImage } from "../support/script-image.ts";
import { until } from "../support/until.ts";

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");

/** Looks at a queued job until what it says of its wait matches. */
async function waitsBecause(client: QueueClient, jobId: string, pattern: RegExp): Promise<string> {
  const look = async () => {
    const { queue } = await client.status(jobId);
    if (!queue || !pattern.test(queue.detail)) throw new Error(JSON.stringify(queue));
    return queue.reason;
  };
  return until(look, `a wait because of ${pattern}`, 120_000);
}

/** Files below a folder that hold one of the texts; databases are files, too. */
async function filesWith(folder: string, texts: readonly string[]): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const found: string[] = [];
  for (const path of paths) {
    const content = await readFile(path).catch(() => Buffer.alloc(0)); // gone meanwhile
    if (texts.some((text) => content.includes(text))) found.push(path);
  }
  return found;
}

async function fieldOf(
  edgerun: BareEdgerun,
  name: string,
  argument: string,
  selection = "{ id }",
): Promise<{ readonly id: string }> {
  const api = managementApi(edgerun.baseUrl, edgerun.apiKey);
  const data = await api.query<Record<string, { readonly id: string }>>(
    `mutation { ${name}(${argument}) ${selection} }`,
    {},
  );
  return data[name] ?? { id: "" };
}

describe.runIf(await isDockerAvailable())("in containers", () => {
  let edgerun: BareEdgerun;
  let imageName: string;
  beforeAll(async () => {
    imageName = await ensureScriptImage();
    edgerun = await startBareEdgerun({ runtime: "docker" });
  });
  afterAll(() => edgerun?.stop());

  test("a handler sees the value, once there is one, and nothing on this machine's disk holds it", async ({
    expect,
  }) => {
    const values = ["first-hunter2-8c1f", "second-hunter2-55ab"] as const;
    const client = new QueueClient({
      ...edgerun,
      endpointId: await createEndpoint(edgerun, {
        name: "with a secret",
        imageName,
        env: { TOKEN: "Bearer {{ SECRET_HF_TOKEN }}" },
      }),
    });
    const tokenHash = async () => (await client.runsync({ mock_env_hash: "TOKEN" })).output;

    const waiting = await client.run({ mock_env_hash: "TOKEN" });
    const reason = await waitsBecause(
      client,
      waiting.id,
      /Secret 'HF_TOKEN', to which variable TOKEN of template 'with a secret' refers, does not exist/,
    );
    expect(reason).toBe("worker_crash_looping");
    expect((await client.health()).workers).toMatchObject({ unhealthy: 1 });

    const { id } = await fieldOf(
      edgerun,
      "secretCreate",
      `input: { name: "HF_TOKEN", value: "${values[0]}" }`,
    );
    expect(await client.result(waiting.id)).toMatchObject({ output: hashOf(`Bearer ${values[0]}`) });

    await fieldOf(edgerun, "secretValueUpdate", `input: { id: "${id}", value: "${values[1]}" }`);
    expect(await tokenHash()).toBe(hashOf(`Bearer ${values[0]}`)); // it runs on
    await client.runsync({ mock_refresh: 1 });
    expect(await tokenHash()).toBe(hashOf(`Bearer ${values[1]}`));

    await fieldOf(edgerun, "secretDelete", `id: "${id}"`, "");
    expect(await tokenHash()).toBe(hashOf(`Bearer ${values[1]}`));
    await client.runsync({ mock_refresh: 1 });
    const last = await client.run({});
    await waitsBecause(client, last.id, /Secret 'HF_TOKEN'/);

    expect(await filesWith(edgerun.stateDirectory, values)).toEqual([]);
    expect(edgerun.output()).not.toMatch(/hunter2/);
    // What is looked for would be found.
    expect(await filesWith(edgerun.stateDirectory, ["with a secret"])).not.toEqual([]);
  });

  test("a private image is pulled with its credential, and with no other", async ({ expect }) => {
    const login = { username: "ada-8c1f", password: "right-hunter2-77e0" };
    await using registry = await ImageRegistry.openWith(imageName, login);
    const image = registry.image("team/model:1");
    const named = { name: "private", imageName: image };
    const bare = new QueueClient({ ...edgerun, endpointId: await createEndpoint(edgerun, named) });
    const refused = await bare.run({});
    const reason = await waitsBecause(bare, refused.id, /is refused by its registry.*tries again in/);
    expect(reason).toBe("image_pulling");
    await bare.cancel(refused.id);

    const { id } = await fieldOf(
      edgerun,
      "saveRegistryAuth",
      `input: { name: "team login", username: "${login.username}", password: "wrong-hunter2-41aa" }`,
    );
    const client = new QueueClient({
      ...edgerun,
      endpointId: await createEndpoint(edgerun, {
        ...named,
        name: "private with login",
        containerRegistryAuthId: id,
      }),
    });
    const job = await client.run({ mock_return: "pulled" });
    await waitsBecause(
      client,
      job.id,
      /The registry refused the credentials 'team login' for image .*team\/model:1.*tries again in/,
    );
    await fieldOf(
      edgerun,
      "updateRegistryAuth",
      `input: { id: "${id}", username: "${login.username}", password: "${login.password}" }`,
    );
    expect(await client.result(job.id)).toMatchObject({ status: "COMPLETED", output: "pulled" });

    const texts = [login.username, login.password, "wrong-hunter2-41aa"];
    expect(await filesWith(edgerun.stateDirectory, texts)).toEqual([]);
    await new Docker().getImage(image).remove({ force: true });
  });

  test("the key for secrets is made once, for its owner's eyes only", async ({ expect }) => {
    const path = join(edgerun.stateDirectory, "encryption-keys");
    const key = await readFile(path, "utf8");
    expect(key).toMatch(/^k[0-9a-f]{8}:[A-Za-z0-9+/]{43}=\n$/);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(edgerun.output()).not.toContain(key.trim());
    expect(await filesWith(edgerun.stateDirectory, [key.trim()])).toEqual([path]);
  });
});
