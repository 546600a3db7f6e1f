/** The app of `flash dev`: what a person edits, and what is called then. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, test, vi } from "vitest";
import { sdkDirectory } from "../../cli/discovery/interpreter.ts";
import { LiveProject, worker } from "./support/live-project.ts";

describe("an app as it was opened", () => {
  test("has code, files, peers and packages of each endpoint; a file with an error is shown", async ({
    expect,
  }) => {
    await using project = new LiveProject({
      "classes/model.py": `from edgerun import Endpoint
from shared import words
@Endpoint(name="model", gpu=None, cpu="cpu3c-1-2", dependencies=["left>=1"], system_dependencies=["ffmpeg"],
    accelerate_downloads=False, max_concurrency=3)
class Model:
    async def ask(self, text: str): ...
`,
      "shared/__init__.py": "",
      "shared/words.py": "WORDS = []\n",
      "requirements.txt": "--extra-index-url https://host/simple\nright==2  # why\nedgerun\n",
      "gpu.py": worker("gpu", "1", ', dependencies=["heavy"]'),
      "api.py": `from edgerun import Endpoint
from gpu import gpu
api = Endpoint(name="api", cpu="cpu3c-1-2", dependencies=["light"])
@api.post("/ask")
async def ask(): return await gpu(1)
`,
      "bad.py": `${worker("bad")}def (:\n`,
    });
    const opened = await project.open();
    expect(await opened.names()).toEqual(["api", "gpu", "model"]);

    const required = ["--extra-index-url https://host/simple", "right==2"];
    const model = await opened.endpoint("model");
    expect(model).toMatchObject({
      filePath: "classes/model.py",
      line: 3,
      peers: [],
      resource: { is_live_resource: true, instanceIds: ["cpu3c-1-2"], workersMax: 1 },
      code: {
        execution_type: "class",
        class_name: "Model",
        module: "classes.model",
        max_concurrency: 3,
        dependencies: [...required, "left>=1"],
        system_dependencies: ["ffmpeg"],
        accelerate_downloads: false,
      },
    });
    const files = ["classes/model.py", "shared/__init__.py", "shared/words.py"];
    expect(Object.keys(model.code.modules).toSorted()).toEqual(files);
    expect(await opened.sent("model", "shared/words.py")).toBe("WORDS = []\n");
    expect(model.problem).toBeUndefined();

    const api = await opened.endpoint("api");
    expect(api).toMatchObject({ peers: ["gpu"], code: { execution_type: "route", module: "api" } });
    expect(api.code.dependencies.toSorted()).toEqual([...required, "heavy", "light"].toSorted());
    const gpu = { peers: [], code: { dependencies: [...required, "heavy"] } };
    expect(await opened.endpoint("gpu")).toMatchObject(gpu);

    expect(opened.app.problems).toEqual([expect.stringMatching(/^bad\.py:6: /)]);
    expect(await project.shown()).toMatch(/✗ bad\.py:6: /);
  });

  test("opening fails and leaves nothing when nothing can be read", async ({ expect }) => {
    await using project = new LiveProject({ "bad.py": `${worker("bad")}def (:\n` });
    await expect(project.open()).rejects.toMatchObject({
      name: "Failure",
      advice: [expect.stringMatching(/^bad\.py:6: /)],
      exitCode: 1,
    });
    expect(project.processes()).toEqual([]);
  });

  test("without reloading an edit changes nothing", async ({ expect }) => {
    await using project = new LiveProject({ "a.py": worker("a", "'old'") });
    const opened = await project.open({ reloads: false });
    project.write({ "a.py": worker("a", "'new'") });
    expect(await opened.sent("a")).toContain("'old'");
  });
});

describe("edits", () => {
  test("a call right after a save never has the old code, however it is saved", async ({ expect }) => {
    await using project = new LiveProject({ "a.py": worker("a"), "part/b.py": "B = 0\n" });
    project.write({ "a.py": `from part import b\n${worker("a")}` });
    const opened = await project.open();
    for (let edit = 1; edit <= 3; edit += 1) {
      project.write({ "part/b.py": `B = ${edit}\n` });
      expect(await opened.sent("a", "part/b.py")).toBe(`B = ${edit}\n`);
      project.write({ ".a.py.tmp": `from part import b\n${worker("a", String(edit))}` });
      project.rename(".a.py.tmp", "a.py");
      expect(await opened.sent("a")).toContain(`return ${edit}\n`);
      project.write({ [`new${edit}.py`]: worker(`new${edit}`) });
      expect(await opened.names()).toContain(`new${edit}`);
    }
  });

  test("changes are reported without a call", async ({ expect }) => {
    await using project = new LiveProject({ "a.py": worker("a"), "b.py": worker("b") });
    const opened = await project.open();
    const nothing = { added: [], removed: [], changed: [], reconfigured: [], problems: [], warnings: [] };
    project.write({ "a.py": worker("a", "2") });
    expect(await opened.change()).toEqual({ ...nothing, changed: ["a"] });
    project.write({ "a.py": worker("a", "2", ", workers=3") });
    expect(await opened.change()).toEqual({ ...nothing, changed: ["a"], reconfigured: ["a"] });
    project.write({ "deep/er/c.py": worker("c") });
    expect(await opened.change()).toEqual({ ...nothing, added: ["c"] });
    project.remove("b.py");
    expect(await opened.change()).toEqual({ ...nothing, removed: ["b"] });
    project.rename("deep", "moved");
    expect(await opened.change()).toMatchObject({ added: [], removed: [], changed: ["c"] });
    expect(await opened.endpoint("c")).toMatchObject({ filePath: "moved/er/c.py" });
    project.write({ "moved/er/c.py": worker("c", "3") });
    expect(await opened.change()).toEqual({ ...nothing, changed: ["c"] });
  });

  test("an error keeps the endpoint with its problem until it is fixed", async ({ expect }) => {
    await using project = new LiveProject({
      "a.py": worker("a"),
      "b.py": `import part\n${worker("b")}`,
      "part.py": "",
    });
    const opened = await project.open();
    project.write({ "a.py": `${worker("a")}def (:\n` });
    expect((await opened.endpoint("a")).problem).toMatch(/^a\.py:6: /);
    expect((await opened.endpoint("b")).problem).toBeUndefined();
    project.write({ "a.py": worker("a", "1", ", workers=-1"), "part.py": "x = = 1\n" });
    expect((await opened.endpoint("a")).problem).toMatch(/^a\.py:3: .*workers/);
    expect((await opened.endpoint("b")).problem).toMatch(/^part\.py:1: /);
    project.write({ "a.py": worker("a"), "part.py": "" });
    expect((await opened.endpoint("a")).problem).toBeUndefined();
    expect((await opened.endpoint("b")).problem).toBeUndefined();

    opened.forgetChanges();
    project.write({ "part.py": "x = = 1\n" });
    expect(await opened.change()).toMatchObject({
      changed: [],
      problems: [expect.stringMatching(/^part\.py:1: /)],
    });
    project.write({ "part.py": "x = 1\n" });
    expect(await opened.change()).toMatchObject({ changed: ["b"], problems: [] });
  });

  test("files that a declaration has read, .env and requirements are followed like code", async ({
    expect,
  }) => {
    const code = `import json, os
from edgerun import Endpoint
settings = json.load(open("settings.json"))
kept = dict(line.split("=") for line in open(".env").read().split()) if os.path.exists(".env") else {}
@Endpoint(name="a", cpu="cpu3c-1-2", workers=settings["workers"], env=kept)
def a(): ...
`;
    await using project = new LiveProject({
      "a.py": code,
      "settings.json": '{"workers": 2}',
      "requirements.txt": "left\n-r more.txt\n",
      "more.txt": "",
    });
    const opened = await project.open();
    expect((await opened.endpoint("a")).resource.workersMax).toBe(2);
    project.write({ "settings.json": '{"workers": 4}' });
    expect(await opened.change()).toMatchObject({ changed: [], reconfigured: ["a"] });
    expect((await opened.endpoint("a")).resource.workersMax).toBe(4);
    project.write({ ".env": "MODE=fast" });
    expect(await opened.change()).toMatchObject({ reconfigured: ["a"] });
    expect((await opened.endpoint("a")).resource.env).toEqual({ MODE: "fast" });

    project.write({ "more.txt": "right>=1\n" });
    expect((await opened.endpoint("a")).code.dependencies).toEqual(["left", "right>=1"]);
    project.write({ "more.txt": "-e .\n" });
    expect((await opened.endpoint("a")).problem).toMatch(/^more\.txt:1: "-e \."/);
    project.remove("requirements.txt");
    expect(await opened.endpoint("a")).toMatchObject({ code: { dependencies: [] } });
  });

  test("many files at once, as in a checkout, become one change", async ({ expect }) => {
    const files = Object.fromEntries([...Array(40).keys()].map((at) => [`w${at}.py`, worker(`w${at}`)]));
    await using project = new LiveProject({ "a.py": worker("a") });
    const opened = await project.open();
    project.write(files);
    expect(await opened.names()).toHaveLength(41);
    for (const path of Object.keys(files)) project.remove(path);
    expect(await opened.names()).toEqual(["a"]);
  });

  test("sources are sent unchanged, kept for running calls, and must be UTF-8", async ({ expect }) => {
    const marked = `\uFEFF${worker("a", "'first'")}`;
    await using project = new LiveProject({ "a.py": marked, "b.py": worker("b") });
    const opened = await project.open();
    expect(await opened.sent("a")).toBe(marked);
    const first = (await opened.endpoint("a")).code.modules["a.py"] ?? "";
    project.write({ "a.py": worker("a", "'second'") });
    await opened.endpoint("a");
    expect(opened.app.source(first)).toBe(marked);
    project.write({ "a.py": worker("a", "'third'") });
    await opened.endpoint("a");
    expect(opened.app.source(first)).toBeUndefined();
    project.writeBytes("b.py", Buffer.from(`# -*- coding: latin-1 -*-\n# \xE9\n${worker("b")}`, "latin1"));
    expect((await opened.endpoint("b")).problem).toMatch(/^b\.py:1: .*UTF-8/);
  });
});

describe("processes", () => {
  test("a Python process that is killed is started again", async ({ expect }) => {
    await using project = new LiveProject({ "a.py": worker("a") });
    const opened = await project.open();
    const [before] = project.processes();
    process.kill(before ?? 0, "SIGKILL");
    project.write({ "a.py": worker("a", "2") });
    expect(await opened.sent("a")).toContain("return 2\n");
    expect(project.processes()).not.toContain(before);
    await opened.app.close();
    expect(project.processes()).toEqual([]);
  });

  test("Ctrl+C during the first reading ends it at once, with all its processes", async ({ expect }) => {
    await using project = new LiveProject({
      "a.py": `import time, sys\nopen("begun", "w").close()\ntime.sleep(600)\n${worker("a")}`,
    });
    const opening = project.open();
    await project.hasGot("begun");
    project.interrupt();
    await expect(opening).rejects.toThrow("Ctrl+C");
    // The last killed process ends a moment later.
    await vi.waitFor(() => expect(project.processes()).toEqual([]));
  });

  test("nothing is left when the command is killed while a file is being imported", async ({ expect }) => {
    await using project = new LiveProject({ "a.py": worker("a") });
    const main = fileURLToPath(new URL("support/live-app-main.ts", import.meta.url));
    const child = spawn(process.execPath, [main], {
      cwd: project.directory,
      env: { ...process.env, PYTHONPATH: sdkDirectory() },
      stdio: ["ignore", "pipe", "pipe"],
    });
    // All of its processes have this one; it ends with the last of them.
    const errors = text(child.stderr);
    for await (const chunk of child.stdout) if (String(chunk).includes("open")) break;
    project.write({ "a.py": `import time\nopen("begun", "w").close()\ntime.sleep(600)\n${worker("a")}` });
    await project.hasGot("begun");
    child.kill("SIGKILL");
    expect(await errors).toBe("");
    expect(project.processes()).toEqual([]);
  });
});
