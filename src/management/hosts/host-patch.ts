import * as z from "zod";
import { optional, stringSchema } from "../input-schemas.ts";

const truth = z.boolean("must be true or false");

/** What shall be different about a host; undefined keeps. */
export const hostPatchSchema = z.object({
  id: stringSchema.min(1, "must not be empty"),
  cordoned: optional(truth),
  drained: optional(truth),
});
export type HostPatch = z.output<typeof hostPatchSchema>;
