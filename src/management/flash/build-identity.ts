/** What makes two builds of an app the same: their files, and what they say of themselves before a deploy. */
import type { FlashManifest } from "../../contract/flash/flash-manifest.ts";

type Members = Readonly<Record<string, unknown>>;

/** Tell when it was made, and what became of it. */
const PASSING = new Set(["generated_at", "resources_endpoints"]);
const PASSING_OF_RESOURCE = new Set(["endpoint_id", "aiKey"]);

/** The same text for manifests that say the same, in whatever order. */
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
