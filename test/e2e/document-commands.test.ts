/** The commands of the documents, run against one real Edgerun as a reader would copy them. */
import { rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { CommandFixture, layOutBundle } from "../cli/support/flash-command.ts";
import { type Edgerun, startEdgerun } from "../support/edgerun.ts";
import { readDocument } from "../support/markdown.ts";

const PYTHON_PACKAGE = resolve(import.meta.dirname, "../../sdk/python/src");
const LOCAL_URL = "http://127.0.0.1:8787";
/** An HTTP error ends the command with its body; the documents leave the option out. */
const STRICT = 'set -eu -o pipefail; curl() { command curl --fail-with-body "$@"; }';
const IN_NEW_FOLDER = 'cd "$(mktemp -d -p .)"';

describe("commands of documents", () => {
  let edgerun: Edgerun;
  let bundle: string;
  let fixture: CommandFixture;

  beforeAll(async () => {
    [edgerun, bundle] = await Promise.all([startEdgerun({ runtime: "process" }), layOutBundle()]);
    fixture = await CommandFixture.open(bundle, {
      EDGE: edgerun.baseUrl,
      KEY: edgerun.apiKey,
      ENDPOINT: edgerun.endpointId,
      JOB: "00000000-0000-0000-0000-000000000000-s0",
      EDGERUN_URL: edgerun.baseUrl,
      SVC_API_KEY: edgerun.apiKey,
      PYTHONPATH: PYTHON_PACKAGE,
    });
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
    await edgerun?.stop();
    if (bundle !== undefined) await rm(dirname(bundle), { recursive: true, force: true });
  });

  /** Runs the marked blocks of a document in one shell, so that a variable of one serves the next. */
  async function run(path: string, mark: string): Promise<string> {
    const blocks = readDocument(path).blocks.filter(({ test: marked }) => marked === mark);
    if (blocks.length === 0) throw new Error(`${path} has no block that is marked ${mark}.`);
    const script = [STRICT, IN_NEW_FOLDER, ...blocks.map(({ text }) => text)].join("\n");
    const result = await fixture.run(script.replaceAll(LOCAL_URL, edgerun.baseUrl));
    if (result.exitCode !== 0) throw new Error(`${path}:\n${result.stdout}\n${result.stderr}`);
    return result.stdout;
  }

  test.for([
    ["README.md", '"greeting":"Hello, you!"'],
    ["docs/tutorials/first-job.md", '"greeting":"Hello, you!"'],
    ["docs/how-to/container-workers.md", '"workersMax":5'],
    ["docs/how-to/batches.md", '"requestTotal":2'],
    ["docs/how-to/logs.md", '"lines":'],
  ] as const)("%s answers what it says", async ([path, answer], { expect }) => {
    expect(await run(path, "run")).toContain(answer);
  });

  test("the functions of the README and the tutorial are deployed and called", async ({ expect }) => {
    expect(await run("README.md", "flash")).toContain("Hello, you!");
    const output = await run("docs/tutorials/functions.md", "flash");
    expect(output).toMatch(/^Hello, you!$/m);
    expect(output).toContain('"status":"COMPLETED"');
  });
});
