import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { packDirectory } from "./archive.ts";

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "edgerun-archive-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

function directoryOf(files: Readonly<Record<string, Buffer>>): string {
  const directory = temporaryDirectory();
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(directory, name), bytes);
  return directory;
}

const signal = new AbortController().signal;

test("too large a directory is not packed, and its largest parts are named", async () => {
  const directory = directoryOf({ "small.py": Buffer.from("X = 1\n"), "large.bin": randomBytes(200_000) });
  const archive = join(temporaryDirectory(), "a.tar.gz");
  const options = { signal, onProgress: () => {} };
  expect(await packDirectory(directory, archive, { ...options, maxBytes: 100_000 })).toEqual({
    kind: "too-large",
    largest: [
      { name: "large.bin", bytes: 200_000 },
      { name: "small.py", bytes: 6 },
    ],
  });
  expect(existsSync(archive)).toBe(false);
  const packed = await packDirectory(directory, archive, { ...options, maxBytes: 300_000 });
  expect(packed).toMatchObject({ kind: "packed", sizeBytes: readFileSync(archive).length });
});

test("progress ends with all bytes", async () => {
  const directory = directoryOf({ "@odd": randomBytes(10), b: randomBytes(20) });
  const seen: [number, number][] = [];
  const archive = join(temporaryDirectory(), "a.tar.gz");
  const onProgress = (done: number, total: number): number => seen.push([done, total]);
  await packDirectory(directory, archive, { maxBytes: 1_000_000, signal, onProgress });
  expect(seen.at(-1)).toEqual([30, 30]);
});
