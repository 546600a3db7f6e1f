/** What changed between versions of an endpoint, as users read it. */
import { FINGERPRINT_VARIABLE } from "../deploy/endpoint-input.ts";
import type { Release, ReleaseChange } from "../service/version-operations.ts";

const TEMPLATE = "template.";
const BUILD_FIELD = "flashBuildId";

/** What all of these releases changed together; the newest comes first. Values that come back are no change. */
export function changesTogether(releases: readonly Pick<Release, "changes">[]): readonly ReleaseChange[] {
  const together = new Map<string, ReleaseChange>();
  for (const { changes } of releases.toReversed()) {
    for (const change of changes) {
      const first = together.get(change.field) ?? change;
      together.set(change.field, { field: change.field, old: first.old, new: change.new });
    }
  }
  return [...together.values()].filter((change) => isHidden(change) || !isSame(change));
}

/** Names as users know them: "code" for another build. The fingerprint of an app's files says no more than that. */
export function shownChanges(changes: readonly ReleaseChange[]): readonly ReleaseChange[] {
  return changes
    .filter(({ field }) => !field.endsWith(`env.${FINGERPRINT_VARIABLE}`))
    .map(({ field, ...values }) => ({ field: nameOf(field), ...values }));
}

function nameOf(field: string): string {
  if (field === BUILD_FIELD) return "code";
  return field.startsWith(TEMPLATE) ? field.slice(TEMPLATE.length) : field;
}

function isSame({ old, new: now }: ReleaseChange): boolean {
  return JSON.stringify(old) === JSON.stringify(now);
}

/** Values of variables are not known, so that two may differ although both are shown alike. */
function isHidden({ field, old, new: now }: ReleaseChange): boolean {
  return /(^|\.)env\./.test(field) && old !== null && now !== null;
}
