import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, test } from "vitest";
import { readAudit, writeBillOfMaterials } from "../../scripts/dependencies.ts";

const ROOT = resolve(import.meta.dirname, "../..");

describe("an audit", () => {
  const advisory = (severity: string) =>
    JSON.stringify({ vulnerabilities: { tar: { name: "tar", severity, range: "<7" } } });

  test.for(["high", "critical"])("of a package with a %s fault names it", (severity, { expect }) => {
    expect(readAudit(advisory(severity))).toEqual({ kind: "faulty", packages: [`tar <7 (${severity})`] });
  });

  test.for([advisory("moderate"), '{"vulnerabilities":{}}'])("of %s is clean", (text, { expect }) => {
    expect(readAudit(text)).toEqual({ kind: "clean" });
  });

  test.for(["", "<html>", '{"error":{"code":"ENOAUDIT","summary":"no endpoint"}}', "npm error audit"])(
    "that got %j says that nothing is known, which is not clean",
    (text, { expect }) => {
      expect(readAudit(text).kind).toBe("unknown");
    },
  );
});

test("the bill of materials names each locked package with its version", async ({ expect }) => {
  const directory = await mkdtemp(join(tmpdir(), "edgerun-sbom-"));
  try {
    const path = join(directory, "sbom.json");
    await writeBillOfMaterials(ROOT, path);
    const { components } = JSON.parse(await readFile(path, "utf8")) as {
      components: { name: string; version: string }[];
    };
    const manifest = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
      dependencies: Record<string, string>;
    };
    const found = new Set(components.map(({ name, version }) => `${name}@${version}`));
    for (const [name, version] of Object.entries(manifest.dependencies))
      expect(found).toContain(`${name}@${version}`);
  } finally {
    await rm(directory, { recursive: true });
  }
});
