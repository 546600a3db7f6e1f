/** Values that came out of `JSON.parse`. Not looked into: they are the user's, and may be megabytes. */
import * as z from "zod";

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** Any JSON value that is there; `null` is there. */
export const jsonValueSchema = z.custom<JsonValue>((value) => value !== undefined, "is required");
