/** `flash deploy --preview` of the example app with more endpoints beside it, in real containers. */
import { cp, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, inject, onTestFinished, test } from "vitest";
import { ensureFlashImages } from "../../scripts/images/flash-images.ts";
import { CommandFixture } from "../cli/support/flash-command.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { type PreviewDocument, type PreviewedEndpoint, PreviewRun } from "../support/preview-run.ts";
import { inTurn } from "../support/turn.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const EXAMPLE = join(ROOT, "examples/flash-app");
const PACKAGE = join(ROOT, "sdk/python/src");
/** Time for one more preview beside the first. */
const PREVIEW_LIMIT_MS = 100_000;
const SECRET = "not-for-the-screen";

/** A second load-balanced endpoint, one that misbehaves, and one of an image of one's own. */
const MORE = `
import os
from edgerun import DataCenter, Endpoint, NetworkVolume, PodTemplate

greeter = Endpoint(name="greeter", cpu="cpu3c-1-2")

@greeter.get("/hello/{name}")
def hello(name: str) -> dict:
    """Says hello."""
    return {"hello": name, "key": os.environ.get("SVC_API_KEY")}

@greeter.post("/end")
def end() -> None:
    os._exit(4)

volume = NetworkVolume(name="models", size=10, datacenter=DataCenter.EU_RO_1)

@Endpoint(
    name="odd", cpu="cpu3c-1-2", volume=volume, datacenter=DataCenter.EU_RO_1,
    env={"TOKEN": "Bearer {{ SECRET_TOKEN }}", "EMPTY": "", "LEVEL": "INFO"},
)
def odd(act: str) -> object:
    if act == "environment":
        names = ("TOKEN", "EMPTY", "LEVEL", "FLASH_APP", "FLASH_ENV", "FLASH_RESOURCE_NAME", "RUNPOD_ENDPOINT_ID")
        return {name: os.environ.get(name) for name in names}
    if act == "volume":
        return os.path.ismount("/runpod-volume") and not os.access("/app/odd.py", os.W_OK)
    if act == "end once":
        try:
            open("/runpod-volume/was-here", "x")
        except FileExistsError:
            return "the second time"
    os._exit(3)

@Endpoint(name="nothing", cpu="cpu3c-1-2")
def nothing() -> str:
    """Takes nothing."""
    return "nothing needed"

OWN = r'''
import json, os, urllib.request
def ask(url, body=None):
    with urllib.request.urlopen(urllib.request.Request(url, body)) as answer:
        return answer.read()
while True:
    taken = ask(os.environ["RUNPOD_WEBHOOK_GET_JOB"] + "&job_in_progress=0")
    if taken:
        job = json.loads(taken)
        output = {"output": {"app": os.path.exists("/app/own.py"), **job["input"]}}
        ask(os.environ["RUNPOD_WEBHOOK_POST_OUTPUT"].replace("$ID", job["id"]), json.dumps(output).encode())
'''

own = Endpoint(
    name="own", image="edgerun/flash-cpu:py3.11-latest", cpu="cpu3c-1-2",
    template=PodTemplate(dockerArgs='{"cmd": ["python", "-c", ' + __import__("json").dumps(OWN) + ']}'),
)
`;

describe.runIf(await isDockerAvailable())("a preview", () => {
  const bundle = inject("flashBundle");
  let fixture: CommandFixture;
  let preview: PreviewRun;
  let document: PreviewDocument;

  beforeAll(async () => {
    await inTurn("flash-images", () => ensureFlashImages(() => undefined));
    fixture = await CommandFixture.open(bundle, { PYTHONPATH: PACKAGE });
    await cp(EXAMPLE, fixture.project, { recursive: true });
    await fixture.write("odd.py", MORE);
    await fixture.write(".env", `TOKEN=${SECRET}\nEMPTY=filled\nLEVEL=DEBUG\n`);
    preview = new PreviewRun(fixture);
    document = await preview.ready();
  });
  afterAll(async () => {
    preview?.kill("SIGKILL"); // it has ended by now, unless a test has failed
    await fixture?.[Symbol.asyncDispose]();
  });

  const endpointNamed = (name: string): PreviewedEndpoint => {
    const found = document.endpoints.find((endpoint) => endpoint.name === name);
    if (!found) throw new Error(`${name} is not in the preview.`);
    return found;
  };

  async function request(url: string, body?: unknown, method = body === undefined ? "GET" : "POST") {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(url, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as unknown };
  }

  async function ask(name: string, input: unknown): Promise<unknown> {
    return (await request(`${endpointNamed(name).url}/runsync`, { input })).body;
  }

  test("has a container for each endpoint, on a separate network", async ({ expect }) => {
    const names = [
      "api",
      "greeter",
      "nothing",
      "odd",
      "own",
      "primes",
      "sentiment",
      "statistics",
      "thumbnails",
    ];
    expect(document.endpoints.map(({ name }) => name)).toEqual(names);
    expect(await preview.belongings()).toHaveLength(names.length + 1);
  });

  test("prints a curl for each endpoint, which works as pasted", async ({ expect }) => {
    const calls = preview.screen.split("\n\n").filter((text) => text.startsWith("curl "));
    expect(calls).toHaveLength(document.endpoints.length);
    for (const call of calls) {
      if (call.includes("/odd/")) continue; // ends its container
      const { stdout, stderr, exitCode } = await fixture.run(
        call.replace(/^curl/, "curl --fail-with-body -sS"),
      );
      expect({ call, stdout, stderr, exitCode }).toMatchObject({ exitCode: 0, stderr: "" });
      expect(stdout).not.toContain("FAILED");
    }
  });

  test("runs packages, classes, generators and functions without arguments", async ({ expect }) => {
    expect(await ask("thumbnails", { width: 300, height: 600, size: 30 })).toMatchObject({
      status: "COMPLETED",
      output: { width: 15, height: 30 },
    });
    expect(await ask("sentiment", { method: "predict", text: "a terrible day" })).toMatchObject({
      output: { label: "blame" },
    });
    expect(await ask("nothing", {})).toMatchObject({ output: "nothing needed" });
    const { url } = endpointNamed("primes");
    const { body: submitted } = await request(`${url}/run`, { input: { below: 12 } });
    const { id } = submitted as { id: string };
    expect((await request(`${url}/status/${id}?wait=10000`)).body).toMatchObject({
      status: "COMPLETED",
      output: [2, 3, 5, 7, 11],
    });
    expect((await request(`${url}/stream/${id}`)).body).toEqual({
      status: "COMPLETED",
      stream: [2, 3, 5, 7, 11].map((output) => ({ output })),
    });
    expect((await request(`${url}/health`)).body).toMatchObject({
      workers: { ready: 1 },
      jobs: { inQueue: 0 },
    });
    expect((await request(`${url}/requests`)).body).toMatchObject({ requests: [{ id }, {}], total: 2 });
  });

  test("serves two load-balanced endpoints at once, by ports of their own and under the local server", async ({
    expect,
  }) => {
    const [api, greeter] = [endpointNamed("api"), endpointNamed("greeter")];
    expect(new URL(api.url).port).not.toBe(new URL(greeter.url).port);
    await request(`${api.url}/notes/7`, { text: "buy milk" }, "PUT");
    const answers = await Promise.all([
      request(`${greeter.url}/hello/you`),
      request(`${api.localUrl}/notes/8`, { text: "sell it" }, "PUT"),
      request(`${greeter.localUrl}/hello/both`),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers.map(({ body }) => body)).toMatchObject([
      { hello: "you" },
      { notes: 2 },
      { hello: "both" },
    ]);
    expect((await request(`${api.url}/notes/seven`)).status).toBe(422);
    expect((await request(`${api.url}/execute`, {})).status).toBe(404);
  });

  test("functions can call each other, and only those that call get a key", async ({ expect }) => {
    expect(await request(`${endpointNamed("api").url}/summary`, { values: [1, 2, 6] })).toMatchObject({
      status: 200,
      body: { summary: "3 values, 3.00 in the middle", median: 2 },
    });
    expect((await request(`${endpointNamed("greeter").url}/hello/you`)).body).toMatchObject({ key: null });
  });

  test("gives workers the environment of deployed ones, with secrets of .env, which are not shown", async ({
    expect,
  }) => {
    expect(await ask("odd", { act: "environment" })).toMatchObject({
      output: {
        TOKEN: `Bearer ${SECRET}`,
        EMPTY: "filled",
        LEVEL: "INFO",
        FLASH_APP: "demo",
        FLASH_ENV: "preview",
        FLASH_RESOURCE_NAME: "odd",
        RUNPOD_ENDPOINT_ID: expect.any(String),
      },
    });
    expect(await ask("odd", { act: "volume" })).toMatchObject({ output: true });
    expect(preview.screen).not.toContain(SECRET);
  });

  test("runs an image of one's own, without the app's files", async ({ expect }) => {
    expect(await ask("own", { x: 1 })).toMatchObject({ status: "COMPLETED", output: { app: false, x: 1 } });
  });

  test("starts a container again that has ended, and runs its job once more", async ({ expect }) => {
    expect(await ask("odd", { act: "end once" })).toMatchObject({
      status: "COMPLETED",
      output: "the second time",
      retries: 1,
    });
    const { url } = endpointNamed("greeter");
    expect((await request(`${url}/end`, {})).status).toBeGreaterThanOrEqual(500);
    await expect
      .poll(async () => (await request(`${url}/hello/again`)).status, { timeout: 100_000 })
      .toBe(200);
  });

  test(
    "runs beside others: a killed one leaves nothing, one without a reader ends, one that cannot start says why",
    {
      timeout: 3 * PREVIEW_LIMIT_MS,
    },
    async ({ expect }) => {
      const other = await CommandFixture.open(bundle, { PYTHONPATH: PACKAGE });
      onTestFinished(() => other[Symbol.asyncDispose]());
      const declared = (first: string): string =>
        `${first}\nfrom edgerun import Endpoint\n\n@Endpoint(name="odd", cpu="cpu3c-1-2")\ndef odd(x: int) -> int:\n    return x\n`;
      await other.write("main.py", declared(""));
      const killed = new PreviewRun(other);
      const { endpoints } = await killed.ready();
      const answer = await request(`${endpoints[0]?.url}/runsync`, { input: { x: 5 } });
      expect(answer.body).toMatchObject({ output: 5 });
      const left = await killed.belongings();
      expect(left).toEqual([
        expect.stringMatching(/^edgerun-/),
        expect.stringMatching(/^flash-preview-[0-9a-f]{6}$/),
      ]);
      killed.kill("SIGKILL");
      await killed.ended;
      await expect.poll(() => killed.belongings(), { timeout: 60_000 }).toEqual([]);

      const unread = new PreviewRun(other);
      const { endpoints: served } = await unread.ready();
      unread.stopReading();
      await request(`${served[0]?.url}/runsync`, { input: { x: 6 } }).catch(() => undefined); // tells of the call
      expect((await unread.ended).exitCode).toBe(130);
      expect(await unread.belongings()).toEqual([]);

      // Discovery can import it, a worker cannot.
      await other.write(
        "main.py",
        declared(`import os\nif "RUNPOD_POD_ID" in os.environ: open("/no/model")`),
      );
      const next = new PreviewRun(other);
      const { exitCode, stderr } = await next.ended;
      expect(exitCode).toBe(1);
      expect(stderr).toMatch(
        /✗ The container of odd does not become ready\.[^]*No such file or directory: '\/no\/model'/,
      );
      expect(await next.belongings()).toEqual([]);
      expect((await preview.belongings()).length).toBeGreaterThan(9);
    },
  );

  test("leaves nothing behind when it is stopped", async ({ expect }) => {
    const belongings = await preview.belongings();
    expect(belongings).toHaveLength(document.endpoints.length + 1); // a network
    preview.kill("SIGINT");
    const { exitCode, stderr } = await preview.ended;
    expect(exitCode).toBe(130);
    expect(stderr).toContain("Stopped; containers and network are removed");
    expect(await preview.belongings()).toEqual([]);
    expect(await readdir(join(fixture.project, ".flash"))).not.toContain("preview");
  });
});
