import fc from "fast-check";
import { posix } from "node:path";
import { describe, test } from "vitest";
import { type ArchiveEntry, ArchiveGuard } from "./archive-guard.ts";

const file = (path: string, size = 1): ArchiveEntry => ({ path, type: "File", size });
const link = (path: string, linkpath: string): ArchiveEntry => ({
  path,
  type: "SymbolicLink",
  size: 0,
  linkpath,
});
const hardLink = (path: string, linkpath: string): ArchiveEntry => ({
  path,
  type: "Link",
  size: 0,
  linkpath,
});

function issueOf(...entries: readonly ArchiveEntry[]): string | null {
  const guard = new ArchiveGuard({ entriesMax: 10, bytesMax: 1_000 });
  return entries.map((entry) => guard.issueOf(entry)).find((issue) => issue !== null) ?? null;
}

/** Names that have led programs out of their folder. */
const segment = fc.constantFrom("a", "b", "..", ".", "", "...", "a\\..\\b", "\0", " ", "é", "x".repeat(300));
const path = fc.array(segment, { minLength: 1, maxLength: 6 }).map((segments) => segments.join("/"));

const ROOT = "/srv/app";

function isInside(absolute: string): boolean {
  return absolute === ROOT || absolute.startsWith(`${ROOT}/`);
}

describe("an archive", () => {
  test("writes nowhere but into its folder, whatever its entries are called", ({ expect }) => {
    fc.assert(
      fc.property(path, (name) => {
        if (issueOf(file(name)) !== null) return;
        expect(isInside(posix.join(ROOT, name))).toBe(true);
        expect(posix.join(ROOT, name)).not.toBe(ROOT);
        expect(name).not.toContain("\0");
      }),
      { numRuns: 2_000 },
    );
  });

  test("leads nowhere but into its folder by links, one after the other", ({ expect }) => {
    const links = fc.array(fc.tuple(path, path), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(links, path, (pairs, start) => {
        const guard = new ArchiveGuard();
        const targets = new Map<string, string>();
        const isFolder = (at: string): boolean =>
          [...targets.keys()].some(
            (known) => known === at || known.startsWith(`${at}/`) || at.startsWith(`${known}/`),
          );
        for (const [name, target] of pairs) {
          const at = posix.join(ROOT, name).replace(/\/$/, "");
          if (isFolder(at)) continue; // what unpacks goes through no link, and replaces no full folder
          if (guard.issueOf(link(name, target)) === null) targets.set(at, target);
        }
        expect(isInside(follow(start, targets))).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });

  test.for([
    ["absolute", "/etc/passwd"],
    ["above", "../x"],
    ["above by a way round", "a/../../x"],
    ["cut by a zero", "a/\0"],
    ["the folder itself", "."],
    ["longer than a name may be", "x".repeat(256)],
    ["deeper than a path may be", "ab/".repeat(1_001)],
  ] as const)("with an entry that is %s is rejected", ([, name], { expect }) => {
    expect(issueOf(file(name))).toMatchSnapshot();
  });

  test.for([
    ["lib/x.so", "../y.so", true],
    ["lib/x.so", "../../y.so", false],
    ["x", "/etc/passwd", false],
    ["a/b", "../c/../../d", false],
    ["x", "", false],
    ["x", "y", true],
  ] as const)("with the link %s to %j: may it be so? %s", ([name, target, isFine], { expect }) => {
    expect(issueOf(link(name, target)) === null).toBe(isFine);
  });

  test("has hard links to its own files alone", ({ expect }) => {
    expect(issueOf(file("a"), hardLink("b", "a"), hardLink("c", "b"))).toBeNull();
    for (const entries of [
      [hardLink("b", "a")],
      [hardLink("b", "../a")],
      [hardLink("a", "a")],
      [link("a", "b"), hardLink("c", "a")],
      [file("a"), link("a", "b"), hardLink("c", "a")],
    ]) {
      expect(issueOf(...entries)).toMatchSnapshot();
    }
  });

  test.for(["CharacterDevice", "BlockDevice", "FIFO"])("with a %s is rejected", (type, { expect }) => {
    expect(issueOf({ path: "x", type, size: 0 })).toMatchSnapshot();
  });

  test("is bounded in its entries and its bytes", ({ expect }) => {
    expect(issueOf(...Array.from({ length: 10 }, (_, index) => file(`f${index}`)))).toBeNull();
    expect(issueOf(...Array.from({ length: 11 }, (_, index) => file(`f${index}`)))).toMatchSnapshot();
    expect(issueOf(file("a", 600), file("b", 401))).toMatchSnapshot();
  });
});

/** Where a path leads when every link on it is followed, as a kernel would. */
function follow(start: string, targets: ReadonlyMap<string, string>): string {
  let at = ROOT;
  const rest = start.split("/").filter((one) => one !== "..");
  for (let steps = 0; rest.length > 0 && steps < 200; steps += 1) {
    const next = rest.shift() ?? "";
    const there = posix.join(at, next);
    const target = targets.get(there);
    if (target === undefined || next === "" || next === ".") at = there;
    else rest.unshift(...target.split("/"));
    if (!isInside(at)) return at;
  }
  return at;
}
