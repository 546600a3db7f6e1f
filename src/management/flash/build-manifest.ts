/** What the manifest of a build states about the build and its deployment. */
import type { FlashManifest } from "../../contract/flash/flash-manifest.ts";

/** Whether every resource has a URL. */
export function isCompleteManifest({ resources, resources_endpoints: urls }: FlashManifest): boolean {
  return urls !== undefined && Object.keys(resources).every((name) => Object.hasOwn(urls, name));
}

/** Ids of the endpoints that its resources became. */
export function namedEndpoints({ resources }: FlashManifest): readonly string[] {
  return Object.values(resources).flatMap(({ endpoint_id: id }) => id ?? []);
}

// Two builds of an app are the same if their files are, and what their manifests say before a deployment.

type Members = Readonly<Record<string, unknown>>;

/** Say when it was made, and what became of it. */
const PASSING = new Set(["generated_at", "resources_endpoints"]);
const PASSING_OF_RESOURCE = new Set(["endpoint_id", "aiKey"]);

/** The same string for manifests with the same members, whatever their order. */
export function manifestIdentity(manifest: FlashManifest): string {
  const resources = Object.fromEntries(
    Object.entries(manifest.resources).map(([name, resource]) => [
      name,
      without(resource, PASSING_OF_RESOURCE),
    ]),
  );
  return canonicalJson(without({ ...manifest, resources }, PASSING));
}

function without(members: Members, left: ReadonlySet<string>): Members {
  return Object.fromEntries(Object.entries(members).filter(([key]) => !left.has(key)));
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
