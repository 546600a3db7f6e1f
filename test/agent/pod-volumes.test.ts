/** The local volume of a pod, over the versions of its container. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "vitest";
import type { Assignment } from "../../src/contract/agent/agent.ts";
import { AgentFixture, assignment } from "../support/agent-fixture.ts";

const POD = "pod-1";
const SLEEP = JSON.stringify({
  entrypoint: [process.execPath],
  cmd: ["-e", "setInterval(() => {}, 1000); process.on('SIGTERM', () => process.exit(0))"],
});

function pod(revision: number, volumeInGb: number): Assignment {
  const settings = { volumeInGb, volumeMountPath: "/workspace", ports: [] };
  return assignment({
    ...{ workerId: POD, endpointId: POD, revision },
    ...{ type: "POD", dockerArgs: SLEEP, pod: settings },
  });
}

/** Assigns a version of the pod and waits until its container runs. */
async function run({ edge }: AgentFixture, revision: number, volumeInGb: number): Promise<void> {
  edge.podVolumes = volumeInGb > 0 ? [POD] : [];
  edge.assign(pod(revision, volumeInGb));
  await edge.until(() =>
    edge.syncs.at(-1)?.workers.some((worker) => worker.revision === revision && worker.state === "ready"),
  );
}

describe("the local volume of a pod that runs", () => {
  test("stays for the next version, and is gone for good once one has none", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const file = join(host.stateDir, "pods", POD, "volume", "file");
    await run(host, 1, 1);
    await writeFile(file, "data");
    await run(host, 2, 1);
    expect(existsSync(file)).toBe(true);
    await run(host, 3, 0);
    expect(existsSync(file)).toBe(false);
    await run(host, 4, 1);
    expect(existsSync(file)).toBe(false);
  });
});
