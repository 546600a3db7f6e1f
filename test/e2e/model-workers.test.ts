/** Workers with real models in containers, and their clients, unmodified: OpenAI's, and a search in a book. */
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import OpenAI, { NotFoundError } from "openai";
import { Agent } from "undici";
import { afterAll, beforeAll, describe, test } from "vitest";
import { ensureClientVenv } from "../support/client-venv.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { createEndpoint } from "../support/management-client.ts";
import { blocksOfTest, readDocument } from "../support/markdown.ts";
import { ensureWorkerImage } from "../support/worker-image.ts";

const pathOf = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));

describe.runIf(await isDockerAvailable()).concurrent("a real model in a container", () => {
  let account: AccountHost;
  let image: string;
  let embeddings: string;

  beforeAll(async () => {
    [image, embeddings, account] = await Promise.all([
      ensureWorkerImage("openai"),
      ensureWorkerImage("embeddings"),
      startAccountHost("model workers", "docker"),
    ]);
  });
  afterAll(() => account.stop());

  /** Runs a client script; throws with its output when it finds a difference. */
  async function said(program: string, file: string, endpoint: string, ...more: string[]): Promise<string> {
    const { baseUrl, apiKey } = account;
    const target = ["--base-url", `${baseUrl}/v2`, "--api-key", apiKey, "--endpoint", endpoint];
    const { all } = await execa(program, [pathOf(file), ...target, ...more], { all: true });
    return all;
  }

  test("searches a book by meaning, one job per paragraph", async ({ expect }) => {
    const settings = { name: "embeddings", imageName: embeddings, workersMax: 1 };
    const id = await createEndpoint(account, settings);
    const found = await said(process.execPath, "examples/embeddings/search.ts", id, "--every", "8");
    expect(found).toContain("all 5 questions found their paragraph");
  });

  test("is what the npm package openai and the PyPI package openai expect", async ({ expect }) => {
    const id = await createEndpoint(account, { name: "engine", imageName: image, workersMax: 1 });
    expect(await said(process.execPath, "test/clients/openai-sdk.mjs", id)).toContain(
      "ok         a client that waits too little says so",
    );
    expect(await said(await ensureClientVenv(), "test/clients/openai_client.py", id)).toContain(
      "ok         asyncio: eight streams at a time",
    );
  });

  test("answers the quick starts of the documents", async ({ expect }) => {
    const id = await createEndpoint(account, { name: "quick-start", imageName: image, workersMax: 1 });
    const python = await ensureClientVenv();
    const blocks = ["README.md", "docs/reference/openai.md", "examples/openai/README.md"].flatMap((path) =>
      blocksOfTest(readDocument(path), "openai"),
    );
    expect(blocks.map(({ language }) => language)).toEqual(["python", "python", "js", "python"]);
    for (const { language, text } of blocks) {
      const program = text
        .replaceAll("http://127.0.0.1:8787", account.baseUrl)
        .replaceAll("ENDPOINT_ID", id)
        .replaceAll("er_...", account.apiKey)
        .replaceAll('"MODEL"', `"${MODEL}"`);
      const [command, ...options] =
        language === "js" ? [process.execPath, "--input-type=module", "--eval"] : [python, "-c"];
      const { stdout } = await execa(command, [...options, program], { cwd: pathOf("") });
      expect(stdout, text).not.toBe("");
    }
  });

  test("is read as well by OpenAI's clients when it yields objects, several at a time", async ({
    expect,
  }) => {
    const env = { RAW_OPENAI_OUTPUT: "0", DEFAULT_BATCH_SIZE: "7" };
    const id = await createEndpoint(account, { name: "objects", imageName: image, workersMax: 1, env });
    const client = new OpenAI({ apiKey: account.apiKey, baseURL: `${account.baseUrl}/v2/${id}/openai/v1` });
    expect(await streamed(client)).toBe(await whole(client));
  });

  test("is a server with OpenAI's routes on a load-balanced endpoint, by its path and by its host", async ({
    expect,
  }) => {
    const id = await createEndpoint(account, {
      name: "server",
      type: "LB",
      imageName: image,
      dockerArgs: "python3 -u /app/server.py",
      env: { PORT: "6000" }, // one that `fetch` refuses to call; an agent calls any
      workersMax: 1,
    });
    const { apiKey, baseUrl } = account;
    const byPath = new OpenAI({ apiKey, baseURL: `${baseUrl}/v2/${id}/openai/v1` });
    const host = `${id}.lb.localhost:${new URL(baseUrl).port}`;
    const byHost = new OpenAI({ apiKey, baseURL: `http://${host}/v1`, fetchOptions: { dispatcher: LOCAL } });

    const completion = await whole(byPath);
    expect(completion).not.toBe("");
    for (const client of [byPath, byHost]) {
      expect((await client.models.list()).data.map((model) => model.id)).toEqual([MODEL]);
      expect(await streamed(client)).toBe(completion);
      const wrong = client.chat.completions.create({ ...QUESTION, model: "none" });
      await expect(wrong).rejects.toThrow(NotFoundError);
    }
  });
});

const MODEL = "textgenrnn";
const QUESTION = { model: MODEL, messages: [{ role: "user" as const, content: "Hello" }], seed: 3 };

/** Not every system knows that names below localhost are its own. */
const LOCAL = new Agent({
  connect: { lookup: (_name, _options, resolve) => resolve(null, [{ address: "127.0.0.1", family: 4 }]) },
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
