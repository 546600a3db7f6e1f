/** What a release states about the packages in it: that none has a known vulnerability, and which they are. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import * as z from "zod";

const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;
const LIMIT_MS = 120_000;
const SERIOUS = new Set(["high", "critical"]);

const auditSchema = z.object({
  vulnerabilities: z.record(
    z.string(),
    z.object({ name: z.string(), severity: z.string(), range: z.string() }),
  ),
});

/** `unknown`: the registry could not be asked, as without a network or behind a mirror. */
export type Audit =
  | { readonly kind: "clean" }
  | { readonly kind: "faulty"; readonly packages: readonly string[] }
  | { readonly kind: "unknown"; readonly detail: string };

/** Asks the registry for advisories on the locked packages; only serious ones on shipped packages count. */
export async function auditPackages(root: string): Promise<Audit> {
  return readAudit(await runNpm(root, ["audit", "--omit=dev", "--json"]));
}

/** Reads what `npm audit --json` has printed. */
export function readAudit(text: string): Audit {
  const answer = auditSchema.safeParse(parseJson(text));
  if (!answer.success) {
    const [, reason = "npm said nothing"] = /"(?:message|summary)":\s*"([^"]+)"/.exec(text) ?? [];
    return { kind: "unknown", detail: reason };
  }
  const serious = Object.values(answer.data.vulnerabilities).filter(({ severity }) => SERIOUS.has(severity));
  if (serious.length === 0) return { kind: "clean" };
  const packages = serious.map(({ name, range, severity }) => `${name} ${range} (${severity})`);
  return { kind: "faulty", packages };
}

/** Writes the bill of materials of all locked packages, as CycloneDX: bundles include some build dependencies. */
export async function writeBillOfMaterials(root: string, path: string): Promise<void> {
  const text = await runNpm(root, ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"]);
  const bill = z.object({ bomFormat: z.literal("CycloneDX"), components: z.array(z.unknown()).min(1) });
  bill.parse(parseJson(text));
  await writeFile(path, text);
}

/** What npm prints, whatever its exit code: with advisories it is 1. */
async function runNpm(root: string, args: readonly string[]): Promise<string> {
  const own = process.env["npm_execpath"];
  const [command, all] = own === undefined ? ["npm", args] : [process.execPath, [own, ...args]];
  const options = { cwd: root, maxBuffer: OUTPUT_MAX_BYTES, timeout: LIMIT_MS };
  return await new Promise((resolve) => execFile(command, [...all], options, (_, stdout) => resolve(stdout)));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
