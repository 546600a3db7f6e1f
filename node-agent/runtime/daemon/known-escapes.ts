/**
 * Versions of what isolates workers that are known not to: an image gets out of its container, or at the files of
 * others. This file reads the versions that a host runs and assesses them.
 */
import Dockerode from "dockerode";
import * as z from "zod";
import { isEarlier } from "../../../src/contract/agent/agent-version.ts";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { runCommand } from "../../host/command.ts";

export type RuntimeComponent = "Docker" | "containerd" | "runc" | "NVIDIA Container Toolkit";

export type ComponentVersion = {
  readonly component: RuntimeComponent;
  /** As the component reports it, such as 1.1.5+ds1. */
  readonly version: string;
  /**
   * The changes that its distribution lists for this package; null where they cannot be read, undefined where its
   * makers have built it, whose versions need no such list.
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
  /** It takes more than a worker may ask for, such as mounts that it chooses. */
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

const LIMIT_MS = 10_000;

const versionSchema = z.object({
  Platform: z.object({ Name: z.string() }).optional(),
  Components: z.array(z.object({ Name: z.string(), Version: z.string() })).optional(),
});

/** The daemon's components, and the packages in which Debian and its derivatives have them. */
const COMPONENTS: ReadonlyMap<
  string,
  { readonly component: RuntimeComponent; readonly packageName: string }
> = new Map(
  Object.entries({
    Engine: { component: "Docker", packageName: "docker.io" },
    containerd: { component: "containerd", packageName: "containerd" },
    runc: { component: "runc", packageName: "runc" },
  }),
);

/** Empty where no daemon answers; a component that reports no version is left out. */
export async function readRuntimeVersions(hasRealGpus: boolean): Promise<readonly ComponentVersion[]> {
  const [components, toolkit] = await Promise.all([readComponents(), hasRealGpus ? readToolkit() : []]);
  return [...components, ...toolkit];
}

async function readComponents(): Promise<readonly ComponentVersion[]> {
  const answer: unknown = await new Dockerode({ timeout: LIMIT_MS }).version().catch(() => ({}));
  const { Platform, Components = [] } = versionSchema.catch({}).parse(answer);
  // Docker's own builds include runc and containerd of their makers.
  const isOfMakers = Platform?.Name.startsWith("Docker Engine") ?? false;
  const found = Components.flatMap(({ Name, Version }) => {
    const entry = COMPONENTS.get(Name);
    return entry && Version !== "" ? [{ ...entry, version: Version }] : [];
  });
  return await Promise.all(
    found.map(async ({ component, packageName, version }) => {
      return {
        component,
        version,
        changelog: isOfMakers ? undefined : await readChangelog(packageName),
      };
    }),
  );
}

async function readToolkit(): Promise<readonly ComponentVersion[]> {
  const end = await runCommand("nvidia-ctk", ["--version"], LIMIT_MS);
  const [, version] = end.kind === "ended" ? (/version v?(\d+\.\d+\.\d+\S*)/.exec(end.stdout) ?? []) : [];
  return version === undefined
    ? []
    : [{ component: "NVIDIA Container Toolkit", version, changelog: undefined }];
}

/** Distributions fix old versions and name there what they have fixed. */
async function readChangelog(packageName: string): Promise<string | null> {
  try {
    const packed = await readFile(`/usr/share/doc/${packageName}/changelog.Debian.gz`);
    return (await promisify(gunzip)(packed)).toString("utf8");
  } catch {
    return null;
  }
}
