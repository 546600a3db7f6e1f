/** Patches made of bodies of REST, whose errors name the place in the body. */
import type * as z from "zod";
import { ServiceError } from "../../contract/errors.ts";
import { invalidInput } from "../../contract/validation-issues.ts";

/** Places in the body by fields of the patch, where they differ: `workersMin` is `workers.min` in REST v2. */
export type Places = Readonly<Record<string, string>>;

/** Validates a patch; `inTemplate` are the places of the fields of its template. */
export function parsePatch<Schema extends z.ZodType>(
  schema: Schema,
  patch: unknown,
  places: Places = {},
  inTemplate: Places = {},
): z.output<Schema> {
  const parsed = schema.safeParse(patch);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path: [field = "", ...rest], message }) => {
    const [name = "", ...below] = field === "template" ? rest : [field, ...rest];
    const place = (field === "template" ? inTemplate : places)[String(name)] ?? name;
    return { path: [...String(place).split("."), ...below], message };
  });
  throw invalidInput({ issues });
}

/** Runs a write; an error that begins with the name of a field begins with its place instead. */
export async function withPlaces<Value>(places: Places, write: () => Promise<Value>): Promise<Value> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { issues, ...details } = error.details;
    const placed = issues?.map((issue) => withPlace(places, issue));
    throw new ServiceError(error.code, withPlace(places, error.message), {
      ...details,
      ...(placed && { issues: placed }),
    });
  }
}

function withPlace(places: Places, text: string): string {
  const [, field = "", rest] = /^(\w+)(: .*)$/s.exec(text) ?? [];
  const place = places[field];
  return place === undefined ? text : `${place}${rest}`;
}
