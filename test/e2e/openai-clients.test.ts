/** OpenAI's clients, unmodified, against a language model in a container, behind a queue and as a server. */
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import OpenAI, { NotFoundError } from "openai";
import { Agent } from "undici";
import { afterAll, beforeAll, describe, test } from "vitest";
import { ensureClientVenv } from "../support/client-venv.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { startBareEdgerun, type BareEdgerun } from "../support/edgerun.ts";
import { createEndpoint } from "../support/management-client.ts";
import { ensureWorkerImage } from "../support/worker-image.ts";

const pathOf = (file: string): string => fileURLToPath(new URL(`../clients/${file}`, import.meta.url));

describe.runIf(await isDockerAvailable()).concurrent("an engine behind OpenAI's routes", () => {
  let edgerun: BareEdgerun;
  let python: string;
  let image: string;
  let endpointId: string;

  beforeAll(async () => {
    [image, python, edgerun] = await Promise.all([
      ensureWorkerImage("openai"),
      ensureClientVenv(),
      startBareEdgerun({ runtime: "docker" }),
    ]);
    endpointId = await createEndpoint(edgerun, { name: "engine", imageName: image, workersMax: 1 });
  });
  afterAll(() => edgerun.stop());

  /** Runs a client script; throws with its output when it finds a difference. */
  async function said(program: string, file: string, endpoint: string): Promise<string> {
    const { baseUrl, apiKey } = edgerun;
    const target = ["--base-url", `${baseUrl}/v2`, "--api-key", apiKey, "--endpoint", endpoint];
    const { all } = await execa(program, [pathOf(file), ...target], { all: true });
    return all;
  }

  test("the npm package openai and the PyPI package openai find what they expect", async ({ expect }) => {
    expect(await said(process.execPath, "openai-sdk.mjs", endpointId)).toContain(
      "ok         a client that waits too little says so",
    );
    expect(await said(python, "openai_client.py", endpointId)).toContain(
      "ok         asyncio: eight streams at a time",
    );
  });

  test("an engine that yields objects, several at a time, is read as well", async ({ expect }) => {
    const env = { RAW_OPENAI_OUTPUT: "0", DEFAULT_BATCH_SIZE: "7" };
    const id = await createEndpoint(edgerun, { name: "objects", imageName: image, workersMax: 1, env });
    const client = new OpenAI({ apiKey: edgerun.apiKey, baseURL: `${edgerun.baseUrl}/v2/${id}/openai/v1` });
    expect(await streamed(client)).toBe(await whole(client));
  });

  test("a server with these routes is one on a load-balanced endpoint, by its path and by its host", async ({
    expect,
  }) => {
    const id = await createEndpoint(edgerun, {
      name: "server",
      type: "LB",
      imageName: image,
      dockerArgs: "python3 -u /app/server.py",
      env: { PORT: "6000" }, // one that `fetch` refuses to call; an agent calls any
      workersMax: 1,
    });
    const { apiKey, baseUrl } = edgerun;
    const byPath = new OpenAI({ apiKey, baseURL: `${baseUrl}/v2/${id}/openai/v1` });
    const host = `${id}.lb.localhost:${new URL(baseUrl).port}`;
    const byHost = new OpenAI({ apiKey, baseURL: `http://${host}/v1`, fetchOptions: { dispatcher: LOCAL } });

    const words = await whole(byPath);
    expect(words).not.toBe("");
    for (const client of [byPath, byHost]) {
      expect((await client.models.list()).data.map((model) => model.id)).toEqual([MODEL]);
      expect(await streamed(client)).toBe(words);
      const wrong = client.chat.completions.create({ ...QUESTION, model: "none" });
      await expect(wrong).rejects.toThrow(NotFoundError);
    }
  });
});

const MODEL = "textgenrnn";
const QUESTION = { model: MODEL, messages: [{ role: "user" as const, content: "Hello" }], seed: 3 };

/** Not every system knows that names below localhost are its own. */
const LOCAL = new Agent({
  connect: { lookup: (_name, _options, tell) => tell(null, [{ address: "127.0.0.1", family: 4 }]) },
});

async function whole(client: OpenAI): Promise<string> {
  const { choices } = await client.chat.completions.create(QUESTION);
  return choices[0]?.message.content ?? "";
}

async function streamed(client: OpenAI): Promise<string> {
  let text = "";
  for await (const { choices } of await client.chat.completions.create({ ...QUESTION, stream: true })) {
    text += choices[0]?.delta.content ?? "";
  }
  return text;
}
