/** `flash dev` with workers in containers: calls, changes of code, and what is left when something dies. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import Docker from "dockerode";
import { afterAll, beforeAll, describe, test } from "vitest";
import { type ContainerFixture, openContainerFixture } from "../cli/support/container-fixture.ts";
import type { CommandFixture } from "../cli/support/flash-command.ts";
import { RunningCommand } from "../cli/support/running-command.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { type BareEdgerun, startBareEdgerun } from "../support/edgerun.ts";
import { freePort } from "../support/free-port.ts";

const CALL_LIMIT_MS = 110_000;
/** Longer than it takes to read a line of a worker and to kill something, on a busy machine. */
const LONG_SECONDS = 15;

const WORKERS = `
import asyncio
from edgerun import Endpoint
from words import greeting

@Endpoint(name="hello", cpu="cpu3c-1-2")
def hello(name: str):
    """Greets somebody."""
    print(f"greeting {name}")
    return {"message": greeting(name)}

@Endpoint(name="counter", cpu="cpu3c-1-2")
class Counter:
    """Counts what it is given."""

    def __init__(self):
        self.total = 0

    def add(self, number: int):
        self.total += number
        return self.total

    def nothing(self):
        return None

@Endpoint(name="letters", cpu="cpu3c-1-2")
async def letters(word: str = "abc", seconds: int = 0):
    print(f"spelling {word}")
    await asyncio.sleep(seconds)
    for letter in word:
        yield letter
`;

const BROKEN = `
from edgerun import Endpoint

@Endpoint(name="broken", cpu="cpu3c-1-2")
def broken():
    return 1 / 0
`;

const API = `
import asyncio
from edgerun import Endpoint

api = Endpoint(name="api", cpu="cpu3c-1-2")

@api.post("/relay/{name}")
async def relay(name: str, times: int = 1):
    """Has hello greet."""
    from workers import hello
    return [await hello(name) for _ in range(times)]

@api.get("/slowly")
async def slowly():
    print("answering slowly")
    await asyncio.sleep(600)

@api.get("/fails")
def fails():
    raise KeyError("no such thing")
`;

/** An image of one's own that speaks OpenAI's API, as far as a queue has it. */
const OWN = `
import json
from edgerun import Endpoint, PodTemplate

CODE = r'''
import json, os, urllib.request
def ask(url, body=None):
    with urllib.request.urlopen(urllib.request.Request(url, body)) as answer:
        return answer.read()
def tell(name, id, output):
    ask(os.environ[name].replace("$ID", id), json.dumps({"output": output}).encode())
while True:
    taken = ask(os.environ["RUNPOD_WEBHOOK_GET_JOB"] + "&job_in_progress=0")
    if taken:
        job = json.loads(taken)
        words = job["input"]["openai_input"]["prompt"]
        for word in words:
            tell("RUNPOD_WEBHOOK_POST_STREAM", job["id"], "data: " + json.dumps(word) + chr(10) * 2)
        tell("RUNPOD_WEBHOOK_POST_OUTPUT", job["id"], words)
'''

own = Endpoint(
    name="own", image="edgerun/flash-cpu:py3.11-latest", cpu="cpu3c-1-2",
    template=PodTemplate(dockerArgs=json.dumps({"cmd": ["python", "-c", CODE]})),
)
`;

/** Too long to travel where it has been already. */
const GREETING_MODULE = `
def greeting(name):
    return f"Hello, {name}!"
# ${"These are words. ".repeat(2_000)}
`;

const CALL = `
import asyncio
from workers import hello

print(asyncio.run(hello("Di")))
`;

type Answer = { readonly status: number; readonly body: Record<string, unknown> };

describe.runIf(await isDockerAvailable())("flash dev with workers in containers", () => {
  let opened: ContainerFixture<BareEdgerun>;
  let edgerun: BareEdgerun;
  let fixture: CommandFixture;
  let dev: RunningCommand;
  let url: string;

  beforeAll(async () => {
    opened = await openContainerFixture(startBareEdgerun({ runtime: "docker" }));
    ({ fixture, place: edgerun } = opened);
    await fixture.write("workers.py", WORKERS);
    await fixture.write("broken.py", BROKEN);
    await fixture.write("api.py", API);
    await fixture.write("own.py", OWN);
    await fixture.write("words.py", GREETING_MODULE);
    await start();
  });
  afterAll(async () => {
    await dev?.[Symbol.asyncDispose]();
    await opened?.[Symbol.asyncDispose]();
  });

  async function start(...args: readonly string[]): Promise<void> {
    dev = new RunningCommand(
      join(fixture.commands, "flash"),
      ["dev", "--port", String(await freePort()), ...args],
      {
        cwd: fixture.project,
        env: fixture.environment,
      },
    );
    const [, address = ""] = await dev.printed(/(http:\/\/localhost:\d+)\/docs/);
    url = address;
  }

  async function call(path: string, body?: unknown, method = "POST"): Promise<Answer> {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(CALL_LIMIT_MS),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** What a person would have seen who watched, too. */
  async function activity(): Promise<string> {
    const folder = join(fixture.project, ".flash/logs");
    const texts = (await readdir(folder)).map(async (name) => await readFile(join(folder, name), "utf8"));
    return (await Promise.all(texts)).join("");
  }

  async function graphql<Data>(query: string): Promise<Data> {
    const response = await fetch(`${edgerun.baseUrl}/graphql`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${edgerun.apiKey}` },
      body: JSON.stringify({ query }),
    });
    return ((await response.json()) as { data: Data }).data;
  }

  async function liveEndpoints(): Promise<readonly { readonly id: string; readonly name: string }[]> {
    type Found = { myself: { endpoints: { id: string; name: string }[] } };
    return (await graphql<Found>("{ myself { endpoints { id name } } }")).myself.endpoints;
  }

  test(
    "each kind of function is called by the name of its endpoint",
    { timeout: 2 * CALL_LIMIT_MS },
    async ({ expect }) => {
      expect((await call("/", undefined, "GET")).body).toMatchObject({ status: "healthy" });
      const [hello, counted, letters] = await Promise.all([
        call("/hello/runsync", { input: { name: "Ada" } }),
        call("/counter/runsync", { input: { method: "add", number: 2 } }),
        call("/letters/runsync", { input: {} }),
      ]);
      expect(hello).toMatchObject({
        status: 200,
        body: { status: "COMPLETED", output: { message: "Hello, Ada!" } },
      });
      expect(counted.body).toMatchObject({ output: 2 });
      expect(letters.body).toMatchObject({ output: ["a", "b", "c"] });
      const again = await call("/counter/runsync", { input: { method: "add", number: 3 } });
      expect(again.body).toMatchObject({ output: 5 });
      await dev.printed(/greeting Ada/);
    },
  );

  test("a route calls a queue function, and its errors have file and line", async ({ expect }) => {
    const relayed = await call("/api/relay/Bo", { times: 2 });
    expect(relayed).toEqual({
      status: 200,
      body: ["Hello, Bo!", "Hello, Bo!"].map((message) => ({ message })),
    });
    expect((await call("/api/relay/Bo", { times: "many" })).status).toBe(422);
    expect(await call("/api/fails", undefined, "GET")).toMatchObject({ status: 500 });
    await dev.printed(/File ".*api\.py", line \d+, in fails/);
    const failed = await call("/broken/runsync", { input: {} });
    expect(failed.body).toMatchObject({ status: "FAILED" });
    expect(String(failed.body["error"])).toContain("broken.py");
    await dev.printed(/File ".*broken\.py", line 6, in broken/);
  });

  test("a body that does not fit is refused with the field, and reaches no worker", async ({ expect }) => {
    const refused = await call("/hello/runsync", { input: { nam: "Ada" } });
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.body)).toContain("nam");
    expect((await call("/nobody/runsync", { input: {} })).status).toBe(404);
  });

  test("a client of the queue API is pointed at it", async ({ expect }) => {
    const { id } = (await call("/v2/hello/run", { input: { name: "Cy" } })).body;
    const done = await call(`/v2/hello/status/${String(id)}?wait=20000`, undefined, "GET");
    expect(done.body).toMatchObject({ id, status: "COMPLETED", output: { message: "Hello, Cy!" } });
    expect((await call("/hello/health", undefined, "GET")).body).toHaveProperty("workers");
  });

  test("OpenAI's clients are streamed to by an image of one's own", async ({ expect }) => {
    const response = await fetch(`${url}/own/openai/v1/completions`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: "Bearer none is needed" },
      body: JSON.stringify({ prompt: ["a", "ü"], stream: true }),
    });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    expect(await response.text()).toBe('data: "a"\n\ndata: "\\u00fc"\n\ndata: [DONE]\n\n');
    const refused = await call("/own/openai/v1/completions", []);
    expect(refused).toMatchObject({ status: 400, body: { error: { code: "invalid_input" } } });
  });

  test("a script of the project calls functions by the server that runs", async ({ expect }) => {
    await fixture.write("call.py", CALL);
    const { stdout, stderr } = await fixture.run("FLASH_IS_LIVE_PROVISIONING=true python3 call.py");
    expect({ stdout, stderr }).toEqual({ stdout: "{'message': 'Hello, Di!'}", stderr: "" });
  });

  test("a deleted endpoint is created again by the call", async ({ expect }) => {
    const before = (await liveEndpoints()).find(({ name }) => name === "live-hello");
    await graphql(`mutation { deleteEndpoint(id: "${before?.id}") }`);
    const again = await call("/hello/runsync", { input: { name: "Ada" } });
    expect(again.body).toMatchObject({ status: "COMPLETED", output: { message: "Hello, Ada!" } });
  });

  test("what is saved is what the next call runs, in the file itself and in one that it imports", async ({
    expect,
  }) => {
    const greet = async () => (await call("/hello/runsync", { input: { name: "Ada" } })).body;
    const before = await greet();
    for (const word of ["Hi", "Hallo", "Salut"]) {
      await fixture.write("words.py", GREETING_MODULE.replace("Hello", word));
      expect(await greet()).toMatchObject({
        output: { message: `${word}, Ada!` },
        workerId: before["workerId"],
      });
    }
    const counted = await call("/counter/runsync", { input: { method: "add", number: 1 } });
    expect(counted.body).toMatchObject({ output: 1 }); // its module imports the file that has changed
    await dev.printed(/Reloaded: .*hello/);
  });

  test("a file with a syntax error stops its own functions only, with its position", async ({ expect }) => {
    const from = dev.output.length;
    await fixture.write("broken.py", BROKEN.replace("return 1 / 0", "return 1 /"));
    const refused = await call("/broken/runsync", { input: {} });
    expect(refused.status).toBe(503);
    expect(JSON.stringify(refused.body)).toContain("broken.py:6");
    await dev.printed(/broken\.py:6/, from);
    expect((await call("/hello/runsync", { input: { name: "Ada" } })).body).toMatchObject({
      status: "COMPLETED",
    });
    await fixture.write("broken.py", BROKEN.replace("1 / 0", "1 / 2"));
    expect((await call("/broken/runsync", { input: {} })).body).toMatchObject({ output: 0.5 });
  });

  test("killed workers are replaced: a job runs again, and a request fails with a reason", async ({
    expect,
  }) => {
    const from = dev.output.length;
    const calling = call("/letters/runsync", { input: { word: "killed", seconds: LONG_SECONDS } });
    const asking = call("/api/slowly", undefined, "GET");
    await Promise.all([dev.printed(/spelling killed/, from), dev.printed(/answering slowly/, from)]);
    const killed = (await liveEndpoints()).filter(({ name }) => ["live-letters", "live-api"].includes(name));
    const docker = new Docker();
    for (const { id } of killed) {
      const [container] = await docker.listContainers({ filters: { label: [`edgerun.endpoint=${id}`] } });
      await docker.getContainer(container?.Id ?? "none").kill();
    }
    expect((await calling).body).toMatchObject({ status: "COMPLETED", output: "killed".split("") });
    expect((await asking).status).toBe(502);
    await dev.printed(/✗ .*GET \/api\/slowly/, from);
  });

  test("an edge that is killed in the middle of a call is waited for", async ({ expect }) => {
    const from = dev.output.length;
    const { length: told } = await activity();
    const calling = call("/letters/runsync", { input: { word: "edge", seconds: LONG_SECONDS } });
    await dev.printed(/spelling edge/, from);
    process.kill(edgerun.pids().edge, "SIGKILL");
    expect((await calling).body).toMatchObject({ status: "COMPLETED", output: "edge".split("") });
    expect((await activity()).slice(told)).toMatch(/POST \/letters\/runsync[^]*(cannot be reached|was lost)/);
  });

  test("killed itself, it leaves its endpoints, which the next one finds and takes away", async ({
    expect,
  }) => {
    const before = await liveEndpoints();
    expect(before.map(({ name }) => name)).toContain("live-hello");
    await dev.end("SIGKILL");
    await start("--yes");
    await dev.printed(/left \d+ live endpoints?/);
    expect(await liveEndpoints()).toEqual([]);
    expect((await call("/hello/runsync", { input: { name: "Ada" } })).body).toMatchObject({
      status: "COMPLETED",
    });
    const from = dev.output.length;
    expect(await dev.end("SIGTERM")).toBe(130);
    expect(dev.output.slice(from)).toMatch(/Deleted 1 live endpoint/);
    expect(await liveEndpoints()).toEqual([]);
  });
});
