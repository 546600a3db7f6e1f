import { expect, test } from "vitest";
import { VariableNames } from "./credentials.ts";
import type { Item, Kind } from "./plan.ts";

const item = (kind: Kind, sourceId: string, name: string): Item => ({
  kind,
  sourceId,
  name,
  settings: {},
  notes: [],
});
const registries = (...names: readonly string[]) =>
  names.map((name, index) => item("registry", `id${index}`, name));

test("a registry is named by its name, a secret as it is", () => {
  const [hub, secret] = [item("registry", "id0", "docker-hub"), item("secret", "hf", "hf")];
  const names = new VariableNames([hub, secret]);
  expect(names.of(hub)).toEqual(["REGISTRY_DOCKER_HUB_USERNAME", "REGISTRY_DOCKER_HUB_PASSWORD"]);
  expect(names.of(secret)).toEqual(["hf"]);
});

test.each([
  [registries("dock er", "dock-er")],
  [registries("日本", "中国")],
  [registries("hub", "hub")],
  [[item("registry", "id0", "hub"), item("registry", "ID0", "hub")]],
  [[item("registry", "id0", "hub"), item("secret", "s", "REGISTRY_HUB_PASSWORD")]],
])("no two credentials of %j have a variable in common", (items) => {
  const names = new VariableNames(items);
  const all = items.flatMap((one) => names.of(one));
  expect(new Set(all).size).toBe(all.length);
});
