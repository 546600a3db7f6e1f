/** Files of apps on their way from a scripted edge to workers that are plain processes. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "vitest";
import { AgentFixture, assignment } from "../support/agent-fixture.ts";
import { AgentProcess } from "../support/agent-process.ts";
import { archiveOf } from "../support/archive.ts";

/** Large enough to arrive in many pieces; nothing of it can be packed. */
const BULK = randomBytes(3_000_000);
const ARCHIVE = archiveOf([
  { path: "flash_manifest.json", body: "{}" },
  { path: "model/weights.bin", body: BULK },
]);

function keptFile(host: AgentFixture, sha256: string, name: string): string {
  return join(host.stateDir, "artifacts", sha256, "app", name);
}

test("files of an app come once for several workers, and stay for the next one", async ({ expect }) => {
  await using host = await AgentFixture.start();
  const artifact = host.edge.artifacts.add(ARCHIVE);
  const workers = ["worker-1", "worker-2"].map((workerId) => assignment({ workerId, artifact }));
  host.edge.assign(...workers);
  for (const { workerId } of workers) await host.edge.worker(workerId, "ready");
  expect(await readFile(keptFile(host, artifact.sha256, "model/weights.bin"))).toEqual(BULK);
  await host.stopAgent();
  await host.startAgent();
  host.edge.assign(...workers, assignment({ workerId: "worker-3", artifact }));
  await host.edge.worker("worker-3", "ready");
  expect(host.edge.artifacts.asked).toEqual([""]);
  expect(host.count("artifact_kept")).toBe(1);
});

test("a download that breaks off goes on where it was", async ({ expect }) => {
  await using host = await AgentFixture.start();
  const artifact = host.edge.artifacts.add(ARCHIVE);
  host.edge.artifacts.mishaps.push({ kind: "break", after: 1_000_000 }, { kind: "break", after: 500_000 });
  await host.readyWorker({ artifact });
  expect(host.edge.artifacts.asked).toEqual(["", "bytes=1000000-", "bytes=1500000-"]);
  expect(await readFile(keptFile(host, artifact.sha256, "model/weights.bin"))).toEqual(BULK);
});

test("an edge that knows no ranges sends all of it again", async ({ expect }) => {
  await using host = await AgentFixture.start();
  const artifact = host.edge.artifacts.add(ARCHIVE);
  host.edge.artifacts.mishaps.push({ kind: "break", after: 1_000_000 }, { kind: "ignore_range" });
  await host.readyWorker({ artifact });
  expect(host.edge.artifacts.asked).toHaveLength(2);
  expect(await readFile(keptFile(host, artifact.sha256, "model/weights.bin"))).toEqual(BULK);
});

test("bytes of another SHA-256 are thrown away, and the worker says so until the right ones come", async ({
  expect,
}) => {
  await using host = await AgentFixture.start({ restartBaseMs: 300 });
  const artifact = host.edge.artifacts.add(ARCHIVE);
  host.edge.artifacts.mishaps.push({ kind: "damage" });
  host.edge.assign(assignment({ artifact }));
  const { detail } = await host.edge.until(() =>
    host.edge.syncs.at(-1)?.workers.find((worker) => worker.detail?.includes("SHA-256")),
  );
  expect(detail).toMatch(
    new RegExp(`came damaged and were thrown away: .* and ${artifact.sha256} was announced`),
  );
  await host.edge.worker("worker-1", "ready");
  expect(host.edge.artifacts.asked).toEqual(["", ""]);
});

test("an artifact that the edge does not have is a problem that the worker tells", async ({ expect }) => {
  await using host = await AgentFixture.start();
  host.edge.assign(assignment({ artifact: { sha256: "0".repeat(64), sizeBytes: 10 } }));
  const { state, detail } = await host.edge.until(() =>
    host.edge.syncs.at(-1)?.workers.find((worker) => worker.detail?.includes("hand out")),
  );
  expect(state).toBe("pulling");
  expect(detail).toMatch(/does not hand out the app's files: This host's account has no such artifact/);
});

test("a hostile archive is not unpacked, and leaves nothing outside", async ({ expect }) => {
  await using host = await AgentFixture.start();
  const artifact = host.edge.artifacts.add(
    archiveOf([
      { path: "good.py", body: "1" },
      { path: "../../escaped", body: "2" },
    ]),
  );
  host.edge.assign(assignment({ artifact }));
  const { detail } = await host.edge.until(() =>
    host.edge.syncs.at(-1)?.workers.find((worker) => worker.detail?.includes("archive")),
  );
  expect(detail).toMatch(/is not unpacked: it has an entry that leaves the app's folder: "..\/..\/escaped"/);
  expect(existsSync(join(host.stateDir, "artifacts", "escaped"))).toBe(false);
  expect(existsSync(join(host.stateDir, "artifacts", artifact.sha256))).toBe(false);
});

test("an agent that is killed while it downloads leaves what came to the next one", async ({ expect }) => {
  await using host = await AgentFixture.create();
  const artifact = host.edge.artifacts.add(ARCHIVE);
  host.edge.artifacts.mishaps.push({ kind: "stall", after: 1_000_000 });
  host.edge.assign(assignment({ artifact }));
  const settings = { edgeUrl: host.edge.url, stateDir: host.stateDir };
  await using first = AgentProcess.start(settings);
  const incoming = join(host.stateDir, "artifacts", "incoming", artifact.sha256);
  await expect
    .poll(
      () =>
        readFile(incoming).then(
          ({ length }) => length,
          () => 0,
        ),
      { timeout: 20_000, interval: 20 },
    )
    .toBe(1_000_000);
  await first.kill();

  await using second = AgentProcess.start(settings, {});
  await host.edge.worker("worker-1", "ready");
  expect(host.edge.artifacts.asked).toEqual(["", "bytes=1000000-"]);
  expect(second.stderr).toContain("artifact_kept");
  expect(await readFile(keptFile(host, artifact.sha256, "model/weights.bin"))).toEqual(BULK);
});
