/**
 * `npm run package`: builds what the edge serves below /packages, into `dist/assets/packages`, and lists all packages in
 * it. Fails where one of them has a serious known vulnerability.
 */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { auditPackages, writeBillOfMaterials } from "./dependencies.ts";
import { buildPackages } from "./bundle/packages.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const SBOM = join("dist", "sbom.cdx.json");

await buildPackages(ROOT);
await writeBillOfMaterials(ROOT, join(ROOT, SBOM));
console.log(`The packages are in ${join("dist", "assets", "packages")}; ${SBOM} lists what is in them.`);

const audit = await auditPackages(ROOT);
if (audit.kind === "clean") console.log("No package in it has a serious known vulnerability.");
if (audit.kind === "unknown")
  console.warn(`\n!!!!!! NOT AUDITED: the registry returned no advisories. ${audit.detail}\n`);
if (audit.kind === "faulty") {
  console.error(`\nPackages with serious known vulnerabilities:\n  ${audit.packages.join("\n  ")}`);
  process.exitCode = 1;
}
