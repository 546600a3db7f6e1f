import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "vitest";

type Layers = Readonly<Record<string, readonly string[]>>;

const TABLE = pathToFileURL(resolve(import.meta.dirname, "../../scripts/lint/layers.mjs")).href;

/** A way from a folder back to itself through the values that folders import; undefined where there is none. */
function cycleIn(layers: Layers): readonly string[] | undefined {
  const finished = new Set<string>();
  const visit = (folder: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(folder)) return [...path.slice(path.indexOf(folder)), folder];
    if (finished.has(folder)) return undefined;
    for (const row of layers[folder] ?? []) {
      const cycle = row.startsWith("type:") ? undefined : visit(row.replace(/^load:/, ""), [...path, folder]);
      if (cycle) return cycle;
    }
    finished.add(folder);
    return undefined;
  };
  return Object.keys(layers)
    .map((folder) => visit(folder, []))
    .find((cycle) => cycle !== undefined);
}

test("no folder may import, through others, what imports it", async ({ expect }) => {
  const { LAYERS } = (await import(TABLE)) as { readonly LAYERS: Layers };
  expect(Object.keys(LAYERS).length).toBeGreaterThan(50);
  expect(cycleIn(LAYERS)).toBeUndefined();
});

test("a cycle is found, through import() too, and types alone make none", ({ expect }) => {
  expect(cycleIn({ top: ["left"], left: ["right"], right: ["load:left"] })).toEqual([
    "left",
    "right",
    "left",
  ]);
  expect(cycleIn({ left: ["right"], right: ["type:left"] })).toBeUndefined();
});
