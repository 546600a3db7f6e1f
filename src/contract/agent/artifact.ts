/** The packed files of a flash app, as hosts get them. */
import * as z from "zod";
import { ARTIFACT_MAX_BYTES } from "../flash/flash-limits.ts";

export const sha256Schema = z
  .string("must be a string")
  .regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in 64 lower-case hex digits");

/** A gzipped tar archive, known by its content. */
export const artifactSchema = z.object({
  sha256: sha256Schema,
  sizeBytes: z.number().int().positive().max(ARTIFACT_MAX_BYTES),
});
export type Artifact = z.infer<typeof artifactSchema>;

/** Where a worker finds the files unpacked, read-only. */
export const APP_DIRECTORY = "/app";
/** Where images that unpack on their own look for the archive. */
export const PACKED_ARTIFACT_PATH = "/root/.runpod/artifact.tar.gz";
