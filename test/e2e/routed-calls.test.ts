/** Functions of routes that are imported by another endpoint's function: workers as processes, deployed and in `flash dev`. */
import { join } from "node:path";
import { afterAll, beforeAll, inject, test } from "vitest";
import { CommandFixture } from "../cli/support/flash-command.ts";
import { RunningCommand } from "../cli/support/running-command.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { freePort } from "../support/free-port.ts";
import { QueueClient } from "../support/queue-client.ts";

const PACKAGE = join(import.meta.dirname, "../../sdk/python/src");

const API = `
import os
from edgerun import Endpoint

api = Endpoint(name="api", cpu="cpu3c-1-2")

@api.post("/process")
async def process(input_data: dict) -> dict:
    return {"got": input_data, "by": os.environ["FLASH_RESOURCE_NAME"]}

@api.get("/items/{number}")
def item(number: int, tags: list[str] = []) -> list:
    return [number, *tags, os.environ["FLASH_RESOURCE_NAME"]]

@api.post("/fail")
async def fail(why: str) -> None:
    raise ValueError(why)
`;

const CALLER = `
from edgerun import Endpoint, RemoteExecutionError

@Endpoint(name="caller", cpu="cpu3c-1-2")
async def caller(word: str) -> dict:
    from api import fail, item, process
    try:
        await fail("no")
    except RemoteExecutionError as error:
        return {"process": await process({"word": word}), "item": item(7, tags=["a/b"]), "error": str(error)}
`;

let account: AccountHost;
let fixture: CommandFixture;

beforeAll(async () => {
  account = await startAccountHost("routed calls", "process");
  const { baseUrl, apiKey } = account;
  fixture = await CommandFixture.open(inject("flashBundle"), {
    EDGERUN_URL: baseUrl,
    SVC_API_KEY: apiKey,
    PYTHONPATH: PACKAGE,
  });
  await fixture.write("api.py", API);
  await fixture.write("caller.py", CALLER);
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await account?.stop();
});

const outputOf = (api: string) => ({
  process: { got: { word: "hi" }, by: api },
  item: [7, "a/b", api],
});

test("a deployed function calls the routes of another endpoint", async ({ expect }) => {
  const { stdout, stderr, exitCode } = await fixture.run("flash deploy --no-deps --json");
  if (exitCode !== 0) throw new Error(stderr);
  const { endpoints } = JSON.parse(stdout) as { endpoints: { name: string; id: string }[] };
  const endpointId = endpoints.find(({ name }) => name === "caller")?.id ?? "";
  const client = new QueueClient({ ...account, endpointId });
  const { id } = await client.run({ word: "hi" });
  expect(await client.result(id)).toMatchObject({
    status: "COMPLETED",
    output: { ...outputOf("api"), error: expect.stringMatching(/\bfail\(\).*'api'/) },
  });
});

test("so does one in flash dev, whose first call makes the other endpoint", async ({ expect }) => {
  const args = ["dev", "--port", String(await freePort())];
  const command = join(fixture.commands, "flash");
  await using dev = new RunningCommand(command, args, { cwd: fixture.project, env: fixture.environment });
  const [, url = ""] = await dev.printed(/(http:\/\/localhost:\d+)\/docs/);
  const response = await fetch(`${url}/caller/runsync`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ input: { word: "hi" } }),
  });
  const job = (await response.json()) as { readonly output: object };
  expect(job).toMatchObject({
    status: "COMPLETED",
    output: { ...outputOf("live-api"), error: expect.stringMatching(/ValueError: no[^]*api\.py", line 17/) },
  });
});
