/** The commands of the documents, run against one real Edgerun as a reader would copy them. */
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, inject, test } from "vitest";
import { CommandFixture } from "../cli/support/flash-command.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { createHelloEndpoint } from "../support/management-client.ts";
import { blocksOfTest, readDocument, readDocuments } from "../support/markdown.ts";
import { QueueClient } from "../support/queue-client.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const PYTHON_PACKAGE = join(ROOT, "sdk/python/src");
const LOCAL_PORT = ":8787";
/** A job's webhook goes to the edge itself, which has nothing there. */
const EXAMPLE_URL = "https://example.com";
/** An HTTP error ends the command with its body; the documents leave the option out. */
const STRICT = 'set -eu -o pipefail; curl() { command curl --fail-with-body "$@"; }';
const IN_NEW_FOLDER = `cd "$(mktemp -d -p .)" && ln -s '${join(ROOT, "examples")}' .`;

/** The blocks of a document with this mark run in one shell; each output contains what stands behind it. */
const RUNS: readonly (readonly [path: string, mark: string, ...outputs: string[]])[] = [
  ["README.md", "run", '"greeting":"Hello, you!"'],
  ["README.md", "flash", "Hello, you!"],
  ["docs/how-to/backups.md", "run"],
  ["docs/how-to/batches.md", "run", "2 completed, 0 failed, 0 in progress, of 2", '"status": "COMPLETED"'],
  ["docs/how-to/container-workers.md", "run", '"workersMax": 5', '"workersMax": 10'],
  ["docs/how-to/hosts.md", "run", "EDGERUN_JOIN_TOKEN=erj_"],
  ["docs/how-to/logs.md", "run", '"lines": ['],
  ["docs/how-to/pods.md", "run", "hello</a>", '"desiredStatus":"EXITED"', '"podTerminate":null'],
  ["docs/how-to/troubleshooting.md", "run", '"isPresent":true'],
  ["docs/how-to/webhooks.md", "run", '"status":"IN_QUEUE"', '"attempts":', '"state": "pending"'],
  ["docs/reference/api-keys.md", "run", '"token":"er_'],
  ["docs/reference/load-balancing.md", "run", '"saveEndpoint":{"id":'],
  ["docs/reference/management-api.md", "run", '"myself":{"id":'],
  ["docs/tutorials/first-job.md", "run", '"greeting":"Hello, you!"'],
  ["docs/tutorials/functions.md", "flash", "\nHello, you!\n", '"status":"COMPLETED"'],
  [
    "examples/README.md",
    "run",
    '"greeting":"Hello, Ada!"',
    '{"wordCount":2,"characterCount":7}',
    '"wordCount":3',
  ],
  ["examples/README.md", "images"],
];

describe("commands of documents", () => {
  let account: AccountHost;
  let fixture: CommandFixture;

  beforeAll(async () => {
    account = await startAccountHost("document commands", "process");
    const endpointId = await createHelloEndpoint(account);
    const client = new QueueClient({ ...account, endpointId });
    const { id: jobId } = await client.run({ name: "you" }, { webhook: `${account.baseUrl}/hook` });
    await client.result(jobId);
    fixture = await CommandFixture.open(inject("flashBundle"), {
      EDGE: account.baseUrl,
      KEY: account.apiKey,
      ENDPOINT: endpointId,
      JOB: jobId,
      IMAGE: "none",
      EDGERUN_URL: account.baseUrl,
      SVC_API_KEY: account.apiKey,
      PYTHONPATH: PYTHON_PACKAGE,
    });
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
    await account?.stop();
  });

  /** Runs the marked blocks of a document in one shell, so that a variable of one serves the next. */
  async function run(path: string, mark: string): Promise<string> {
    const blocks = blocksOfTest(readDocument(path), mark);
    const script = [STRICT, IN_NEW_FOLDER, ...blocks.map(({ text }) => text)].join("\n");
    const { port, origin } = new URL(account.baseUrl);
    const result = await fixture.run(
      script.replaceAll(LOCAL_PORT, `:${port}`).replaceAll(EXAMPLE_URL, origin),
    );
    if (result.exitCode !== 0) throw new Error(`${path}:\n${result.stdout}\n${result.stderr}`);
    return result.stdout;
  }

  test.for(RUNS)("%s (%s)", async ([path, mark, ...outputs], { expect }) => {
    const output = await run(path, mark);
    for (const expected of outputs) expect(output).toContain(expected);
  });

  test("every block with one of these marks is run", ({ expect }) => {
    const marks = new Set(RUNS.map(([, mark]) => mark));
    const marked = readDocuments().flatMap(({ path, blocks }) =>
      blocks.flatMap(({ tests }) => tests.filter((mark) => marks.has(mark)).map((mark) => `${path} ${mark}`)),
    );
    expect(new Set(marked)).toEqual(new Set(RUNS.map(([path, mark]) => `${path} ${mark}`)));
  });
});
