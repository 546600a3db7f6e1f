/** The manifest of a build as its preview deploys it, and the secrets that its endpoints refer to. */
import type { FlashManifest, ManifestResource } from "../../src/contract/flash/flash-manifest.ts";
import { fillReferences, referencedSecrets } from "../../src/domain/accounts/secret-reference.ts";
import { Failure } from "../../src/std/failure.ts";
import { volumesOf } from "../deploy/volumes.ts";

type Values = Readonly<Record<string, string | undefined>>;
type Variables = readonly (readonly [name: string, value: string])[];

export type PreparedManifest = {
  readonly manifest: FlashManifest;
  /** Values by name, none of them empty. */
  readonly secrets: Readonly<Record<string, string>>;
};

/** Volumes exist only while the preview runs, whatever data center the app names. */
const VOLUME_SIZE_GB = 10;
const VOLUME_DATA_CENTER = "EU-RO-1";

/**
 * What deployed workers get from the account's secrets, those of a preview get from `.env` (`values`). A variable that is
 * declared without a value is filled from there as well; one with a value keeps it, as it does when it is deployed. Each
 * endpoint has a worker from the start. Throws a Failure that names every secret that is missing, and its endpoint.
 */
export function prepareManifest(manifest: FlashManifest, values: Values): PreparedManifest {
  const declared = Object.entries(manifest.resources);
  const missing = declared.flatMap(([name, resource]) => missingSecrets(name, variablesOf(resource), values));
  if (missing.length > 0) {
    throw new Failure("Endpoints refer to secrets that .env does not have.", [
      ...missing,
      "Put them into .env, which is never shipped; deployed workers get them from the account's secrets.",
    ]);
  }
  const resources = declared.map(([name, resource]) => [name, prepareResource(resource, values)] as const);
  const used = resources.flatMap(([, { env = {} }]) => Object.values(env).flatMap(referencedSecrets));
  return {
    manifest: { ...manifest, resources: Object.fromEntries(resources) },
    secrets: Object.fromEntries(used.map((name) => [name, values[name] ?? ""])),
  };
}

function prepareResource(resource: ManifestResource, values: Values): ManifestResource {
  const { workersMin = 0, workersMax = 1, template } = resource;
  const { networkVolume: _one, networkVolumeId: _id, ...others } = resource;
  const env = variablesOf(resource).map(([key, value]) => [key, valueOf(key, value, values)]);
  return {
    ...others,
    workersMin: Math.max(1, workersMin),
    workersMax: Math.max(1, workersMax),
    env: Object.fromEntries(env) as Record<string, string>,
    // Images are pulled as this computer may pull them, not with a login that the account stores.
    ...(template && { template: { ...template, env: [], containerRegistryAuthId: "" } }),
    networkVolumes: volumesOf(resource).map(({ id, name = id, dataCenterId = VOLUME_DATA_CENTER }) => ({
      name,
      dataCenterId,
      size: VOLUME_SIZE_GB,
    })),
  };
}

function variablesOf({ template, env = {} }: ManifestResource): Variables {
  return [...(template?.env ?? []).map(({ key, value }) => [key, value] as const), ...Object.entries(env)];
}

/** The service stores no empty secret, so an empty value is filled in here. */
function valueOf(key: string, value: string, values: Values): string {
  const reference = (name: string): string => (values[name] ? `{{ SECRET_${name} }}` : "");
  return value === "" ? reference(key) : fillReferences(value, reference);
}

function missingSecrets(endpoint: string, variables: Variables, values: Values): readonly string[] {
  return variables.flatMap(([key, value]) =>
    [...new Set(referencedSecrets(value))]
      .filter((name) => values[name] === undefined)
      .map((name) => `${name}=… for the variable ${key} of ${endpoint}`),
  );
}
