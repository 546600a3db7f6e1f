import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, type ExpectStatic, test } from "vitest";
import { archiveOf, type PackedEntry } from "../../test/support/archive.ts";
import { addBytecode, findCompiled, takesBytecode } from "./compiled-app.ts";
import { unpack } from "./unpacking.ts";

const IMAGE = "sha256:01ab";
const APP: readonly PackedEntry[] = [
  { path: "main.py", body: "1" },
  { path: "pkg/deep.py", body: "2" },
  { path: "pkg/__pycache__/old.cpython-311.pyc", body: "old" },
  { path: "alias", type: "SymbolicLink", linkpath: "pkg" },
  { path: "odd/__pycache__", body: "a file" },
];

describe("the bytecode of an image", () => {
  let build = "";
  let drafts = 0;
  beforeEach(async () => {
    build = await mkdtemp(join(tmpdir(), "edgerun-compiled-"));
    await writeFile(join(build, "app.tar.gz"), archiveOf(APP));
    await unpack(join(build, "app.tar.gz"), join(build, "app"));
  });
  afterEach(() => rm(build, { recursive: true, force: true }));

  async function add(entries: readonly PackedEntry[], imageId = IMAGE): Promise<number> {
    const draft = join(build, `draft-${(drafts += 1)}`);
    await mkdir(draft);
    await writeFile(join(draft, "archive"), archiveOf(entries));
    const { signal } = new AbortController();
    return addBytecode(build, imageId, { archive: join(draft, "archive"), draft, signal });
  }

  async function filesOf(folder: string): Promise<Record<string, string>> {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const paths = entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
    const texts = await Promise.all(paths.map((path) => readFile(path, "utf8")));
    return Object.fromEntries(
      paths.map((path, index) => [path.slice(folder.length + 1), texts[index] ?? ""]),
    );
  }

  async function isUnchanged(expect: ExpectStatic): Promise<void> {
    expect(await filesOf(join(build, "app"))).toEqual({
      "main.py": "1",
      "pkg/deep.py": "2",
      "pkg/__pycache__/old.cpython-311.pyc": "old",
      "odd/__pycache__": "a file",
    });
  }

  test("is beside its modules, for this image alone, and takes no other disk", async ({ expect }) => {
    expect(await findCompiled(build, IMAGE)).toBeNull();
    const bytes = await add([
      { path: "__pycache__/main.cpython-311.pyc", body: "12345" },
      { path: "pkg/__pycache__/deep.cpython-311.pyc", body: "678" },
    ]);
    expect(bytes).toBe(8);
    const compiled = (await findCompiled(build, IMAGE)) ?? "";
    expect(await filesOf(compiled)).toMatchObject({
      "main.py": "1",
      "__pycache__/main.cpython-311.pyc": "12345",
      "pkg/__pycache__/deep.cpython-311.pyc": "678",
    });
    expect((await stat(join(compiled, "main.py"))).ino).toBe((await stat(join(build, "app/main.py"))).ino);
    expect(await findCompiled(build, "sha256:02cd")).toBeNull();
    await isUnchanged(expect);
  });

  test.for<[string, PackedEntry]>([
    ["a module", { path: "main.py", body: "evil" }],
    ["bytecode that the build brought", { path: "pkg/__pycache__/old.cpython-311.pyc", body: "evil" }],
    ["the same through a link", { path: "alias/__pycache__/old.cpython-311.pyc", body: "evil" }],
    ["a file in place of a folder", { path: "odd/__pycache__/x.cpython-311.pyc", body: "evil" }],
    ["a folder that is not there", { path: "none/__pycache__/x.cpython-311.pyc", body: "evil" }],
    ["a library", { path: "__pycache__/x.so", body: "evil" }],
    ["what is no bytecode of a folder of its own", { path: "main.cpython-311.pyc", body: "evil" }],
    [
      "a link in place of bytecode",
      { path: "__pycache__/x.pyc", type: "SymbolicLink", linkpath: "../main.py" },
    ],
  ])("does not bring %s", async ([, entry], { expect }) => {
    expect(await add([entry])).toBe(0);
    expect(Object.values(await filesOf((await findCompiled(build, IMAGE)) ?? ""))).not.toContain("evil");
    await isUnchanged(expect);
  });

  test("that leaves its folder is refused as a whole", async ({ expect }) => {
    const good = { path: "__pycache__/main.cpython-311.pyc", body: "good" };
    await expect(add([good, { path: "../__pycache__/x.pyc", body: "evil" }])).rejects.toThrow(/leaves/);
    expect(await findCompiled(build, IMAGE)).toBeNull();
  });

  test("is stored for eight images at most, and once for each", async ({ expect }) => {
    for (let image = 1; image <= 8; image += 1) {
      expect(await takesBytecode(build, `sha256:${image}`)).toBe(true);
      await add([{ path: "__pycache__/main.pyc", body: "1" }], `sha256:${image}`);
      expect(await takesBytecode(build, `sha256:${image}`)).toBe(false);
    }
    expect(await takesBytecode(build, "sha256:9")).toBe(false);
  });

  test("of a build that has been removed meanwhile brings nothing back", async ({ expect }) => {
    await rm(join(build, "app"), { recursive: true });
    await expect(add([{ path: "__pycache__/main.pyc", body: "1" }])).rejects.toThrow(/app/);
    expect(await findCompiled(build, IMAGE)).toBeNull();
  });
});
