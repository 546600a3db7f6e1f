import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { DiscoveredEndpoint } from "../../discovery/discovery-report.ts";
import { readPackages } from "./live-packages.ts";

test.for([
  [{}, ["Torch-Geometric", "numpy"]],
  [{ FLASH_IMAGE_PACKAGES: "numpy" }, ["Torch-Geometric", "numpy", "torch>=2", "torchvision"]],
] as const)(
  "what images have and takes gigabytes does not travel, unless they are said to lack it: %o",
  async ([environment, travels]) => {
    const directory = await mkdtemp(join(tmpdir(), "edgerun-live-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    await writeFile(join(directory, "requirements.txt"), "edgerun\ntorchvision\nTorch-Geometric\n");
    const endpoint = declaring(["torch>=2", "numpy"]);
    const { byEndpoint } = await readPackages(directory, [endpoint], environment);
    expect(byEndpoint.get("a")?.dependencies.toSorted()).toEqual(travels);
  },
);

function declaring(dependencies: string[]): DiscoveredEndpoint {
  return {
    name: "a",
    filePath: "a.py",
    modulePath: "a",
    line: 1,
    configVariable: null,
    isLoadBalanced: false,
    isClient: false,
    resource: {},
    dependencies,
    systemDependencies: [],
    pythonVersion: null,
    functions: [],
    localFiles: ["a.py"],
    makesRemoteCalls: false,
  };
}
