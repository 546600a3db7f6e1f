import * as z from "zod";
import { flashManifestSchema } from "../../src/contract/flash/flash-manifest.ts";

/** The manifest as it lies in `.flash/`: it says which archive beside it is the one that it tells of. */
export const storedManifestSchema = flashManifestSchema.extend({
  artifact: z.object({ file: z.string(), sha256: z.string() }),
});
export type StoredManifest = z.infer<typeof storedManifestSchema>;
