/** Arguments of the operations on flash apps. */
import * as z from "zod";
import { sha256Schema } from "../../contract/agent/artifact.ts";
import { flashNameIssue, flashNameSchema } from "../../contract/flash/flash-names.ts";
import { flashManifestSchema, type FlashManifest } from "../../contract/flash/flash-manifest.ts";
import { listedManifestSchema, readListedManifest } from "../../contract/flash/listed-manifest.ts";
import {
  ARTIFACT_MAX_BYTES,
  LIVE_LEASE_SECONDS,
  MANIFEST_MAX_BYTES,
} from "../../contract/flash/flash-limits.ts";
import { optional, optionalNonEmpty, oneOf, idSchema, wholeNumber } from "../input-schemas.ts";

export const appArgumentSchema = z.object({ flashAppId: idSchema });
export const environmentArgumentSchema = z.object({ flashEnvironmentId: idSchema });
export const appCreationSchema = z.object({
  name: flashNameSchema,
  isForSessions: z.boolean().nullish(),
});
export type AppCreation = z.output<typeof appCreationSchema>;

const leaseSchema = wholeNumber(LIVE_LEASE_SECONDS.min, LIVE_LEASE_SECONDS.max);
export const environmentCreationSchema = z.object({
  flashAppId: idSchema,
  name: flashNameSchema,
  leaseSeconds: optional(leaseSchema),
});
export type EnvironmentCreation = z.output<typeof environmentCreationSchema>;
export const leaseRenewalSchema = z.object({ flashEnvironmentId: idSchema, leaseSeconds: leaseSchema });
export type LeaseRenewal = z.output<typeof leaseRenewalSchema>;
/** A name that no environment can have is accepted as input: the search simply finds nothing. */
export const environmentSearchSchema = z.object({ flashAppId: idSchema, name: idSchema });

export const uploadAnnouncementSchema = z.object({
  flashAppId: idSchema,
  tarballSize: wholeNumber(1, ARTIFACT_MAX_BYTES),
  tarballSha256: optionalNonEmpty(sha256Schema),
});
export type UploadAnnouncement = z.output<typeof uploadAnnouncementSchema>;

/** Read again in the stored form, since what it keeps must be valid there. */
const listedFormSchema = listedManifestSchema.transform(readListedManifest).pipe(flashManifestSchema);

function hasListedResources(sent: unknown): boolean {
  return typeof sent === "object" && sent !== null && "resources" in sent && Array.isArray(sent.resources);
}

/** Endpoints are called by the names of resources, so these are as narrow as theirs. */
const manifestSchema = z.unknown().transform((sent, context): FlashManifest => {
  const schema = hasListedResources(sent) ? listedFormSchema : flashManifestSchema;
  const parsed = schema.safeParse(sent);
  // Some clients write null for what they do not say.
  const read = parsed.success ? parsed : schema.safeParse(withoutNulls(sent));
  if (!read.success) {
    context.issues.push(
      ...((parsed.error ?? read.error).issues.map((issue) => ({ ...issue, input: sent })) as []),
    );
    return z.NEVER;
  }
  for (const name of Object.keys(read.data.resources)) {
    const issue = flashNameIssue(name);
    if (issue) context.addIssue({ code: "custom", message: `the name ${issue}`, path: ["resources", name] });
  }
  if (storedBytes(read.data) > MANIFEST_MAX_BYTES) {
    context.addIssue(`must have at most ${MANIFEST_MAX_BYTES} bytes as JSON`);
  }
  return withoutKeys(read.data);
});

export const finalizationSchema = z.object({
  flashAppId: idSchema,
  objectKey: idSchema,
  manifest: manifestSchema,
});
export type Finalization = z.output<typeof finalizationSchema>;

export const manifestChangeSchema = z.object({ flashBuildId: idSchema, manifest: manifestSchema });
export type ManifestChange = z.output<typeof manifestChangeSchema>;

export const deploymentSchema = z.object({ flashEnvironmentId: idSchema, flashBuildId: idSchema });
export const deploymentEndSchema = z.object({
  flashEnvironmentId: idSchema,
  state: oneOf(["DEPLOYED", "FAILED"]),
});

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([key, member]) => [key, withoutNulls(member)]));
}

/** A key that may read a build may not always write to its endpoints, so their keys are not stored with it. */
function withoutKeys(manifest: FlashManifest): FlashManifest {
  const resources = Object.entries(manifest.resources).map(([name, { aiKey: _, ...resource }]) => [
    name,
    resource,
  ]);
  return { ...manifest, resources: Object.fromEntries(resources) as FlashManifest["resources"] };
}

function storedBytes(manifest: FlashManifest): number {
  return new TextEncoder().encode(JSON.stringify(manifest)).length;
}
