/**
 * Versions of what isolates workers that are known not to: an image gets out of its container, or at the files of
 * others. What a host runs is judged here; how it is read stands in runtime-versions.ts.
 */
import { isEarlier } from "../../src/contract/agent-version.ts";

export type RuntimePart = "Docker" | "containerd" | "runc" | "NVIDIA Container Toolkit";

export type PartVersion = {
  readonly part: RuntimePart;
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
  readonly part: RuntimePart;
  readonly version: string;
  readonly cve: string;
  readonly fixedIn: string;
  readonly certainty: "certain" | "unclear" | "advised";
};

type KnownEscape = {
  readonly part: RuntimePart;
  readonly cve: string;
  /** The first release of each line that has the fix, the latest line last. */
  readonly fixedIn: readonly string[];
  /** It takes more than a worker may ask for, such as mounts of one's own. */
  readonly isBeyondWorkers?: boolean;
};

const KNOWN_ESCAPES: readonly KnownEscape[] = [
  { part: "Docker", cve: "CVE-2021-41091", fixedIn: ["20.10.9"] },
  { part: "containerd", cve: "CVE-2021-41103", fixedIn: ["1.4.11", "1.5.7"] },
  { part: "runc", cve: "CVE-2024-21626", fixedIn: ["1.1.12"] },
  { part: "runc", cve: "CVE-2025-31133", fixedIn: ["1.2.8", "1.3.3"], isBeyondWorkers: true },
  { part: "NVIDIA Container Toolkit", cve: "CVE-2025-23266", fixedIn: ["1.17.8"] },
];

/** What is wrong with these versions. */
export function escapesOf(versions: readonly PartVersion[]): readonly Escape[] {
  return versions.flatMap(({ part, version, changelog }) =>
    KNOWN_ESCAPES.filter((known) => known.part === part && !isFixed(version, known.fixedIn)).flatMap(
      ({ cve, fixedIn, isBeyondWorkers = false }): readonly Escape[] => {
        if (changelog?.includes(cve)) return [];
        const certainty = isBeyondWorkers ? "advised" : changelog === null ? "unclear" : "certain";
        return [{ part, version, cve, fixedIn: fixedIn.join(" or "), certainty }];
      },
    ),
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
export function describeEscape({ part, version, cve, fixedIn, certainty }: Escape): {
  readonly text: string;
  readonly fix: string;
} {
  const fix = `Install ${part} ${fixedIn} or later, or the package with the fix of your distribution.`;
  switch (certainty) {
    case "certain":
      return { text: `${part} ${version} lets images out of their containers (${cve})`, fix };
    case "unclear":
      return { text: `${part} ${version} of a distribution may lack the fix of ${cve}`, fix };
    case "advised":
      return {
        text: `${part} ${version} may lack the fix of ${cve}, which takes mounts that workers cannot ask for`,
        fix,
      };
  }
}
