/** The commands of the documents, run against one real Edgerun as a reader would copy them. */
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, inject, test } from "vitest";
import { CommandFixture } from "../cli/support/flash-command.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { createHelloEndpoint } from "../support/management-client.ts";
import { readDocument } from "../support/markdown.ts";
import { QueueClient } from "../support/queue-client.ts";

const PYTHON_PACKAGE = resolve(import.meta.dirname, "../../sdk/python/src");
const LOCAL_URL = "http://127.0.0.1:8787";
/** An HTTP error ends the command with its body; the documents leave the option out. */
const STRICT = 'set -eu -o pipefail; curl() { command curl --fail-with-body "$@"; }';
const IN_NEW_FOLDER = 'cd "$(mktemp -d -p .)"';

describe("commands of documents", () => {
  let account: AccountHost;
  let fixture: CommandFixture;

  beforeAll(async () => {
    account = await startAccountHost("document commands", "process");
    const endpointId = await createHelloEndpoint(account);
    const { id: jobId } = await new QueueClient({ ...account, endpointId }).run({ name: "you" });
    fixture = await CommandFixture.open(inject("flashBundle"), {
      EDGE: account.baseUrl,
      KEY: account.apiKey,
      ENDPOINT: endpointId,
      JOB: jobId,
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
    const blocks = readDocument(path).blocks.filter(({ test: marked }) => marked === mark);
    if (blocks.length === 0) throw new Error(`${path} has no block that is marked ${mark}.`);
    const script = [STRICT, IN_NEW_FOLDER, ...blocks.map(({ text }) => text)].join("\n");
    const result = await fixture.run(script.replaceAll(LOCAL_URL, account.baseUrl));
    if (result.exitCode !== 0) throw new Error(`${path}:\n${result.stdout}\n${result.stderr}`);
    return result.stdout;
  }

  test.for([
    ["README.md", '"greeting":"Hello, you!"'],
    ["docs/tutorials/first-job.md", '"greeting":"Hello, you!"'],
    ["docs/how-to/container-workers.md", '"workersMax":5'],
    ["docs/how-to/batches.md", '"requestTotal":2'],
    ["docs/how-to/logs.md", '"lines":'],
    ["docs/how-to/troubleshooting.md", '"isPresent":true'],
    ["docs/how-to/backups.md", ""],
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
