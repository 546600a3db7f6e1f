/** OpenAI's clients, unmodified, against a language model in a container behind a queue endpoint. */
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, test } from "vitest";
import { ensureClientVenv } from "../support/client-venv.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { startEdgerun, type Edgerun } from "../support/edgerun.ts";
import { createEndpoint } from "../support/management-client.ts";
import { ensureWorkerImage } from "../support/worker-image.ts";

const pathOf = (file: string): string => fileURLToPath(new URL(`../clients/${file}`, import.meta.url));

describe.runIf(await isDockerAvailable()).concurrent("an engine behind OpenAI's routes", () => {
  let edgerun: Edgerun;
  let python: string;
  let image: string;
  let endpointId: string;

  beforeAll(async () => {
    [image, python] = await Promise.all([ensureWorkerImage("openai"), ensureClientVenv()]);
    edgerun = await startEdgerun({ runtime: "docker" });
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
    const question = {
      model: "textgenrnn",
      messages: [{ role: "user" as const, content: "Hello" }],
      seed: 3,
    };
    const whole = await client.chat.completions.create(question);
    let streamed = "";
    for await (const { choices } of await client.chat.completions.create({ ...question, stream: true })) {
      streamed += choices[0]?.delta.content ?? "";
    }
    expect(streamed).toBe(whole.choices[0]?.message.content);
    expect(streamed).not.toBe("");
  });
});
