/** Reads the versions of what isolates workers on this host. */
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import Dockerode from "dockerode";
import * as z from "zod";
import { runCommand } from "../../host/command.ts";
import type { ComponentVersion, RuntimeComponent } from "./known-escapes.ts";

const LIMIT_MS = 10_000;

const versionSchema = z.object({
  Platform: z.object({ Name: z.string() }).optional(),
  Components: z.array(z.object({ Name: z.string(), Version: z.string() })).optional(),
});

/** Of the daemon's components, and the packages in which Debian and its kin have them. */
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

/** Empty where no daemon answers; a part that says no version is left out. */
export async function readRuntimeVersions(hasRealGpus: boolean): Promise<readonly ComponentVersion[]> {
  const [components, toolkit] = await Promise.all([readComponents(), hasRealGpus ? readToolkit() : []]);
  return [...components, ...toolkit];
}

async function readComponents(): Promise<readonly ComponentVersion[]> {
  const answer: unknown = await new Dockerode({ timeout: LIMIT_MS }).version().catch(() => ({}));
  const { Platform, Components = [] } = versionSchema.catch({}).parse(answer);
  // Builds of Docker's own come with runc and containerd of their makers.
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
