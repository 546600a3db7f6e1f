/** Bodies of REST v2 as trees, made of what stands at each place: `workers.min`. */
import * as z from "zod";
import type { NestedShape } from "../../management/nouns/field.ts";

/** The schema of a body; members that it does not have are refused at every level. Groups may be left out. */
export function nestedBody(shape: NestedShape): z.ZodObject {
  return z.strictObject(levelOf(shape, (group) => nestedBody(group).optional()));
}

/** The schema of an answer. */
export function nestedAnswer(shape: NestedShape): z.ZodObject {
  return z.object(levelOf(shape, nestedAnswer));
}

/** The members of one level; `group` makes the schemas of those that are groups themselves. */
function levelOf(shape: NestedShape, group: (shape: NestedShape) => z.ZodType): Record<string, z.ZodType> {
  const byName = Map.groupBy(Object.entries(shape), ([place]) => place.split(".", 1)[0] ?? "");
  const entries = [...byName].map(([name, places]) => {
    const below = places.map(([place, schema]) => [place.slice(name.length + 1), schema] as const);
    return [name, shape[name] ?? group(Object.fromEntries(below))] as const;
  });
  return Object.fromEntries(entries);
}

/** Values by their place, as a tree; undefined ones are left out. */
export function nest(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const tree: Record<string, unknown> = {};
  for (const [place, value] of Object.entries(values)) {
    if (value !== undefined) put(tree, place.split("."), value);
  }
  return tree;
}

function put(tree: Record<string, unknown>, [name = "", ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    tree[name] = value;
    return;
  }
  const present = tree[name];
  const group: Record<string, unknown> =
    typeof present === "object" && present !== null ? { ...present } : {};
  put(group, rest, value);
  tree[name] = group;
}
