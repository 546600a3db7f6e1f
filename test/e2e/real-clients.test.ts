/** The published clients, unmodified, against a whole Edgerun: on the hello worker, and on a real model. */
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { afterAll, beforeAll, describe, test } from "vitest";
import { ensureClientVenv } from "../support/client-venv.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { type BareEdgerun, startBareEdgerun, startEdgerun, type Edgerun } from "../support/edgerun.ts";
import { createEndpoint } from "../support/management-client.ts";
import { ensureWorkerImage } from "../support/worker-image.ts";

const SEARCH_LIMIT_MS = 300_000;
const pathOf = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Runs a client script on an endpoint; throws with its output when it finds a difference. */
async function runClient(
  program: string,
  file: string,
  edgerun: BareEdgerun,
  endpointId: string,
): Promise<string> {
  const target = [
    "--base-url",
    `${edgerun.baseUrl}/v2`,
    "--api-key",
    edgerun.apiKey,
    "--endpoint",
    endpointId,
  ];
  const { all } = await execa(program, [pathOf(file), ...target], { all: true });
  return all;
}

describe("on the hello worker as a plain process", () => {
  let edgerun: Edgerun;
  let python: string;
  beforeAll(async () => {
    [edgerun, python] = await Promise.all([startEdgerun({ runtime: "process" }), ensureClientVenv()]);
  });
  afterAll(() => edgerun.stop());

  test("the npm package runpod-sdk finds what it expects", async ({ expect }) => {
    const said = await runClient(
      process.execPath,
      "test/clients/runpod-sdk.mjs",
      edgerun,
      edgerun.endpointId,
    );
    expect(said).toContain("ok         what is wrong is refused with its HTTP status");
  });

  test("the PyPI package runpod finds what it expects, sync and asyncio", async ({ expect }) => {
    const said = await runClient(python, "test/clients/runpod_client.py", edgerun, edgerun.endpointId);
    expect(said).toContain("ok         asyncio: health: counts are ints");
  });
});

describe.runIf(await isDockerAvailable())("on a real model in a container", () => {
  test(
    "a book is searched by meaning, one job per paragraph",
    { timeout: SEARCH_LIMIT_MS },
    async ({ expect }) => {
      const image = await ensureWorkerImage("embeddings");
      await using edgerun = await startBareEdgerun({ runtime: "docker" });
      const endpointId = await createEndpoint(edgerun, { name: "embeddings", imageName: image });
      const said = await runClient(process.execPath, "examples/embeddings/search.ts", edgerun, endpointId);
      say(said);
      expect(said).toContain("all 5 questions found their paragraph");
    },
  );
});
