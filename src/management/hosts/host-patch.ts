import * as z from "zod";
import { keepable, plainText } from "../input.ts";

const truth = z.boolean("must be true or false");

/** What shall be different about a host; undefined keeps. */
export const hostPatchSchema = z.object({
  id: plainText.min(1, "must not be empty"),
  cordoned: keepable(truth),
  drained: keepable(truth),
});
export type HostPatch = z.output<typeof hostPatchSchema>;
