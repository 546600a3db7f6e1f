/**
 * Versions of what isolates workers that are known not to: an image gets out of its container, or at the files of
 * others. What a host runs is judged here; how it is read stands in runtime-versions.ts.
 */
import { isEarlier } from "../../../src/contract/agent/agent-version.ts";

export type RuntimeComponent = "Docker" | "containerd" | "runc" | "NVIDIA Container Toolkit";

export type ComponentVersion = {
  readonly component: RuntimeComponent;
  /** As the part says it, such as 1.1.5+ds1. */
  readonly version: string;
  /**
   * What its distribution says to have changed in this package; null where that cannot be read, undefined where it
   * comes from its makers, whose versions mean what they say.
   */
  readonly changelog: string | null | undefined;
};

/** `certain`: it has the fault. `unclear`: a distribution may have fixed it. `advised`: workers have no way to it. */
export type Escape = {
  readonly component: RuntimeComponent;
  readonly version: string;
  readonly cve: string;
  readonly fixedIn: string;
  readonly certainty: "certain" | "unclear" | "advised";
};

type EscapeAdvisory = {
  readonly component: RuntimeComponent;
  readonly cve: string;
  /** The first release of each line that has the fix, the latest line last. */
  readonly fixedIn: readonly string[];
  /** It takes more than a worker may ask for, such as mounts of one's own. */
  readonly isBeyondWorkers?: boolean;
};

const ESCAPE_ADVISORIES: readonly EscapeAdvisory[] = [
  { component: "Docker", cve: "CVE-2021-41091", fixedIn: ["20.10.9"] },
  { component: "containerd", cve: "CVE-2021-41103", fixedIn: ["1.4.11", "1.5.7"] },
  { component: "runc", cve: "CVE-2024-21626", fixedIn: ["1.1.12"] },
  { component: "runc", cve: "CVE-2025-31133", fixedIn: ["1.2.8", "1.3.3"], isBeyondWorkers: true },
  { component: "NVIDIA Container Toolkit", cve: "CVE-2025-23266", fixedIn: ["1.17.8"] },
];

/** What is wrong with these versions. */
export function escapesOf(versions: readonly ComponentVersion[]): readonly Escape[] {
  return versions.flatMap(({ component, version, changelog }) =>
    ESCAPE_ADVISORIES.filter(
      (advisory) => advisory.component === component && !isFixed(version, advisory.fixedIn),
    ).flatMap(({ cve, fixedIn, isBeyondWorkers = false }): readonly Escape[] => {
      if (changelog?.includes(cve)) return [];
      const certainty = isBeyondWorkers ? "advised" : changelog === null ? "unclear" : "certain";
      return [{ component, version, cve, fixedIn: fixedIn.join(" or "), certainty }];
    }),
  );
}

/** By a fix in its own line of releases, or as a later line than all that were fixed. */
function isFixed(version: string, fixedIn: readonly string[]): boolean {
  const ofLine = fixedIn.find((fixed) => lineOf(fixed) === lineOf(version));
  return isEarlier(version, ofLine ?? fixedIn.at(-1) ?? "") === false;
}

function lineOf(version: string): string | undefined {
  return /^v?(\d+\.\d+)\./.exec(version)?.[1];
}

/** The escape in a sentence, and what to do about it. */
export function describeEscape({ component, version, cve, fixedIn, certainty }: Escape): {
  readonly text: string;
  readonly fix: string;
} {
  const fix = `Install ${component} ${fixedIn} or later, or the package with the fix of your distribution.`;
  switch (certainty) {
    case "certain":
      return { text: `${component} ${version} lets images out of their containers (${cve})`, fix };
    case "unclear":
      return { text: `${component} ${version} of a distribution may lack the fix of ${cve}`, fix };
    case "advised":
      return {
        text: `${component} ${version} may lack the fix of ${cve}, which takes mounts that workers cannot ask for`,
        fix,
      };
  }
}
