import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, test } from "vitest";
import { archiveOf, headOf, type PackedEntry } from "../../test/support/archive.ts";
import { ArchiveError, unpack } from "./unpacking.ts";

describe("unpacking", () => {
  let scratch = "";
  beforeEach(async () => {
    scratch = await mkdtemp(join(tmpdir(), "edgerun-unpack-"));
  });
  afterEach(() => rm(scratch, { recursive: true, force: true }));

  async function unpacked(archive: Buffer): Promise<number> {
    await writeFile(join(scratch, "archive"), archive);
    return unpack(join(scratch, "archive"), join(scratch, "app"));
  }

  test("gives everybody the right to read, and keeps what can be run", async ({ expect }) => {
    const bytes = await unpacked(
      archiveOf([
        { path: "bin/tool", body: "12345", mode: 0o4700 },
        { path: "secret.py", body: "1", mode: 0o600 },
        { path: "lib/alias", type: "SymbolicLink", linkpath: "../secret.py" },
        { path: "twin.py", type: "Link", linkpath: "secret.py" },
      ]),
    );
    expect(bytes).toBe(6);
    const modeOf = async (name: string) => (await stat(join(scratch, "app", name))).mode & 0o7777;
    expect(await modeOf("bin/tool")).toBe(0o755);
    expect(await modeOf("secret.py")).toBe(0o644);
    expect(await modeOf("bin")).toBe(0o755);
    expect(await readFile(join(scratch, "app/lib/alias"), "utf8")).toBe("1");
    expect(await readFile(join(scratch, "app/twin.py"), "utf8")).toBe("1");
  });

  const hostile: readonly (readonly [string, readonly PackedEntry[]])[] = [
    ["a path that climbs", [{ path: "../evil", body: "x" }]],
    ["an absolute path", [{ path: "/tmp/edgerun-evil", body: "x" }]],
    ["a link that climbs", [{ path: "a", type: "SymbolicLink", linkpath: ".." }]],
    [
      "a file that is written through a link",
      [
        { path: "d", type: "Directory" },
        { path: "l", type: "SymbolicLink", linkpath: "d" },
        { path: "l/evil", body: "x" },
      ],
    ],
    ["a device", [{ path: "null", type: "CharacterDevice" }]],
    ["a pipe", [{ path: "pipe", type: "FIFO" }]],
  ];
  test.for(hostile)("rejects %s, and writes nothing beside the folder", async ([, entries], { expect }) => {
    await expect(unpacked(archiveOf([{ path: "good", body: "1" }, ...entries]))).rejects.toThrow(
      ArchiveError,
    );
    expect((await readdir(scratch)).toSorted()).toEqual(["app", "archive"]);
  });

  test("rejects files that declare more than the limit of all files, before it writes them", async ({
    expect,
  }) => {
    const archive = archiveOf([{ path: "huge", body: "x", size: 20_000_000_000 }]);
    await expect(unpacked(archive)).rejects.toThrowErrorMatchingSnapshot();
    expect(await readdir(join(scratch, "app"))).toEqual([]);
  });

  test.for([
    ["no gzip", Buffer.from("not an archive at all, though it is long enough to be looked at")],
    ["no tar", gzipSync(Buffer.alloc(4_096, "no header"))],
    ["broken off", archiveOf([{ path: "a", body: Buffer.alloc(100_000, 1) }]).subarray(0, 100)],
    [
      "broken off inside",
      gzipSync(Buffer.concat([headOf({ path: "a", size: 90_000 }), Buffer.alloc(1_024)])),
    ],
  ] as const)("rejects what is %s", async ([, archive], { expect }) => {
    await expect(unpacked(archive)).rejects.toThrowErrorMatchingSnapshot();
  });

  test("ends when it is called off", async ({ expect }) => {
    const archive = archiveOf([{ path: "a", body: Buffer.alloc(1_000_000, 1) }]);
    await writeFile(join(scratch, "archive"), archive);
    const signal = AbortSignal.abort();
    await expect(unpack(join(scratch, "archive"), join(scratch, "app"), signal)).rejects.toMatchObject({
      name: "AbortError",
    });
  });
});
