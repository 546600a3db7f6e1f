import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  addFiles,
  build,
  built,
  HELLO,
  pathsIn,
  projectOf,
  tar,
  temporaryDirectory,
  textIn,
} from "./build-project.ts";

const ownPaths = (archive: string): string[] =>
  pathsIn(archive).filter((path) => !path.startsWith("edgerun/"));

test("an app becomes an archive, and the build directory is removed", async () => {
  const project = projectOf({
    "app.py": HELLO,
    "shop/prices.py": "PRICES = {}\n",
    "README.md": "# shop\n",
    "NOTES.md": "not shipped\n",
    "test_app.py": "raise SystemExit\n",
    ".env": "SVC_API_KEY=secret\n",
    ".env.production": "SVC_API_KEY=secret\n",
    "data/catalog.json": "{}\n",
  });
  const { artifact, manifest, fileCount } = await built(project);
  expect(artifact.path).toBe(join(project, ".flash/artifact.tar.gz"));
  expect(ownPaths(artifact.path)).toEqual([
    "README.md",
    "app.py",
    "data/catalog.json",
    "flash_manifest.json",
    "handler_hello.py",
    "shop/prices.py",
  ]);
  expect(fileCount).toBe(4);
  expect(pathsIn(artifact.path)).toContain("edgerun/__init__.py");
  expect(pathsIn(artifact.path).filter((path) => path.includes("__pycache__"))).toEqual([]);
  expect(readdirSync(join(project, ".flash")).sort()).toEqual(["artifact.tar.gz", "flash_manifest.json"]);
  expect(createHash("sha256").update(readFileSync(artifact.path)).digest("hex")).toBe(artifact.sha256);
  expect(readFileSync(artifact.path).length).toBe(artifact.sizeBytes);

  const packed = JSON.parse(textIn(artifact.path, "flash_manifest.json"));
  const { artifact: archive, ...kept } = JSON.parse(
    readFileSync(join(project, ".flash/flash_manifest.json"), "utf8"),
  );
  expect(archive).toEqual({ file: "artifact.tar.gz", sha256: artifact.sha256 });
  expect(packed.generated_at).toBe("1970-01-01T00:00:00Z");
  expect(Math.abs(Date.parse(kept.generated_at) - Date.now())).toBeLessThan(60_000);
  expect({ ...kept, generated_at: packed.generated_at }).toEqual(packed);
  expect(kept).toEqual(JSON.parse(JSON.stringify(manifest)));
  expect(packed.resources.hello.handler_file).toBe("handler_hello.py");

  const directory = temporaryDirectory();
  tar(["-xzf", artifact.path, "-C", directory]);
  // The handler and the SDK are Python that can be read.
  execFileSync("python3", ["-m", "compileall", "-q", directory]);
  expect(readFileSync(join(directory, "handler_hello.py"), "utf8")).toContain('queue_handler("hello")');
});

test("the same input gives the same bytes, anywhere and any time", async () => {
  const files = { "app.py": HELLO, "b/x.py": "X = 1\n", "run.sh": "#!/bin/sh\n" };
  const project = projectOf(files);
  chmodSync(join(project, "run.sh"), 0o700);
  chmodSync(join(project, "app.py"), 0o600);
  const first = await built(project);
  const elsewhere = temporaryDirectory();
  cpSync(project, elsewhere, { recursive: true });
  chmodSync(join(elsewhere, "app.py"), 0o664);
  utimesSync(join(elsewhere, "app.py"), 1, 1);
  const moved = await built(elsewhere);
  expect(moved.artifact.sha256).toBe(first.artifact.sha256);

  const lines = tar(["-tvzf", first.artifact.path, "--numeric-owner", "--utc"]).split("\n").filter(Boolean);
  expect(lines.filter((line) => !/^-rw(-r--r--|xr-xr-x) 0\/0 .* 1970-01-01 00:00 /.test(line))).toEqual([]);
  expect(lines.find((line) => line.endsWith("run.sh"))).toMatch(/^-rwxr-xr-x/);
  expect(tar(["-tzf", first.artifact.path]).split("\n").filter(Boolean)).toEqual(
    pathsIn(first.artifact.path),
  );

  addFiles(project, { "b/x.py": "X = 2\n" });
  const changed = await built(project);
  expect(changed.artifact.sha256).not.toBe(first.artifact.sha256);
  expect(changed.manifest.source_fingerprint).not.toBe(first.manifest.source_fingerprint);
  expect(moved.manifest.source_fingerprint).toBe(first.manifest.source_fingerprint);
});

test("directories called env, build, docs or tests are shipped where code needs them", async () => {
  const project = projectOf({
    "app.py": `import docs.words\nfrom env import settings\n${HELLO}`,
    "docs/__init__.py": "",
    "docs/words.py": "",
    "docs/words.txt": "beside the module",
    "env/settings.py": "",
    "tests/data.py": "",
    "build/lib/app.py": HELLO,
    "work/pyvenv.cfg": "home = /usr/bin\n",
    "work/lib/site.py": "from edgerun import Endpoint\n1 / 0\n",
  });
  const { artifact } = await built(project);
  expect(ownPaths(artifact.path)).toEqual([
    "app.py",
    "docs/__init__.py",
    "docs/words.py",
    "docs/words.txt",
    "env/settings.py",
    "flash_manifest.json",
    "handler_hello.py",
  ]);
});

test(".gitignore is followed in every directory; .flashignore gives a warning", async () => {
  const project = projectOf({
    "app.py": HELLO,
    ".gitignore": "*.bin\n!.env\n",
    ".flashignore": "app.py\n",
    ".env": "KEY=1\n",
    "a.bin": "",
    "deep/.gitignore": "!b.bin\n/c.txt\n",
    "deep/b.bin": "",
    "deep/c.txt": "",
  });
  const { artifact, warnings } = await built(project);
  expect(ownPaths(artifact.path)).toEqual([
    ".flashignore",
    "app.py",
    "deep/b.bin",
    "flash_manifest.json",
    "handler_hello.py",
  ]);
  expect(warnings).toEqual([expect.stringContaining(".flashignore")]);
});

test(".flash/ is added to .gitignore once", async () => {
  const project = projectOf({ "app.py": HELLO, ".gitignore": "*.log" });
  await built(project);
  await built(project);
  expect(readFileSync(join(project, ".gitignore"), "utf8")).toBe("*.log\n.flash/\n");
});

test("links are followed within the project", async () => {
  const project = projectOf({ "app.py": HELLO, "shared/x.py": "X = 1\n", ".env": "KEY=1\n" });
  symlinkSync("shared", join(project, "linked"));
  symlinkSync("shared/x.py", join(project, "y.py"));
  symlinkSync(".env", join(project, "config.txt"));
  symlinkSync("nowhere", join(project, "lost.py"));
  symlinkSync("/usr", join(project, ".venv"));
  const { artifact, warnings } = await built(project);
  expect(ownPaths(artifact.path)).toEqual([
    "app.py",
    "flash_manifest.json",
    "handler_hello.py",
    "linked/x.py",
    "shared/x.py",
    "y.py",
  ]);
  expect(textIn(artifact.path, "linked/x.py")).toBe("X = 1\n");
  expect(warnings).toEqual(["lost.py is a broken link and is left out."]);
});

test("links that leave the project or form a cycle are named", async () => {
  const project = projectOf({ "app.py": HELLO, "a/x.py": "" });
  symlinkSync("/etc/passwd", join(project, "users.txt"));
  symlinkSync("..", join(project, "a/up"));
  const { failure } = await build(project);
  expect(failure?.advice).toEqual([
    "a/up leads to a directory that it is in.",
    "users.txt leads out of the project, to /etc/passwd.",
    expect.stringContaining(".gitignore"),
  ]);
});

test("a directory without Python files fails with advice", async () => {
  const project = projectOf({ "README.md": "" });
  const { failure } = await build(project);
  expect(failure?.message).toBe("There are no Python files here.");
  expect(failure?.advice.join()).toContain("flash init");
  expect(existsSync(join(project, ".flash"))).toBe(false);
});

test("an app without endpoints fails and leaves nothing", async () => {
  const project = projectOf({ "app.py": "print('hello')\n" });
  const { failure } = await build(project);
  expect(failure).toBeDefined();
  expect(readdirSync(join(project, ".flash"))).toEqual([]);
});

test("a file with the name of a generated one is named", async () => {
  const ofThePackage = await build(projectOf({ "app.py": HELLO, "edgerun/x.txt": "" }));
  expect(ofThePackage.failure?.advice).toContain("edgerun/x.txt");
  const handler = await build(projectOf({ "app.py": HELLO, "handler_hello.py": "" }));
  expect(handler.failure?.advice).toEqual([
    "handler_hello.py:1: the build writes a file of this name, which starts the endpoint; rename it.",
  ]);
});

test("--keep-build keeps the directory, and the next build starts with an empty one", async () => {
  const project = projectOf({ "app.py": HELLO });
  await built(project, { keepBuild: true });
  expect(existsSync(join(project, ".flash/.build/app/app.py"))).toBe(true);
  writeFileSync(join(project, ".flash/.build/app/left-over.py"), "");
  const { artifact } = await built(project, { keepBuild: true });
  expect(pathsIn(artifact.path)).not.toContain("left-over.py");
});

test("--output names the archive, and nothing outside .flash/", async () => {
  const project = projectOf({ "app.py": HELLO });
  await built(project);
  const { artifact } = await built(project, { output: "shop.tar.gz" });
  expect(artifact.path).toBe(join(project, ".flash/shop.tar.gz"));
  // By which `flash update` knows which of the archives the manifest beside them tells of.
  const kept = JSON.parse(readFileSync(join(project, ".flash/flash_manifest.json"), "utf8")) as object;
  expect(kept).toMatchObject({ artifact: { file: "shop.tar.gz", sha256: artifact.sha256 } });
  for (const output of ["../x.tar.gz", "x.zip", "/tmp/x.tar.gz", ".tar.gz"]) {
    const { failure } = await build(project, { output });
    expect(failure?.message).toContain("--output");
  }
});

test("undeployable settings and variables of the service give a warning", async () => {
  const declared =
    'system_dependencies=["ffmpeg"], env={"FLASH_APP": "x", "MODE": "fast"}, ' +
    'template=PodTemplate(name="mine", config={"a": 1}, ports="80/http")';
  const app = HELLO.replace("import Endpoint", "import Endpoint, PodTemplate");
  const project = projectOf({ "app.py": app.replace("cpu=", `${declared}, cpu=`) });
  const { warnings } = await built(project);
  expect(warnings).toEqual([
    expect.stringMatching(/^app\.py:\d+: .*\bhello\b.*\bffmpeg\b/),
    expect.stringMatching(/^app\.py:\d+: .*\bhello\b.*\bFLASH_APP\b/),
    expect.stringMatching(/^app\.py:\d+: .*\bhello\b.*\bname\b/),
    expect.stringMatching(/^app\.py:\d+: .*\bhello\b.*\bconfig\b/),
  ]);
});
