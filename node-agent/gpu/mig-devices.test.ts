import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { gpuSchema } from "../../src/contract/agent/agent.ts";
import { gpuMemoryMbOf } from "../../src/domain/placement/gpu-memory.ts";
import { withMigDevices } from "./mig-devices.ts";
import { readGpus } from "./nvidia-smi.ts";

const LISTING = [
  "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c)",
  "  MIG 3g.40gb     Device  0: (UUID: MIG-7089d0f3-293f-58c9-8f8c-5ea666eedbde)",
  "  MIG 1g.10gb     Device  1: (UUID: MIG-56c30729-347f-5dd6-8da0-c3cc59e969e0)",
  "  MIG 1g.10gb+me  Device  2: (UUID: MIG-GPU-4cf8db2d/9/0)",
  "GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23c)",
].join("\n");
const card = (index: number, tier: string | null) => ({
  ...{ index, name: "NVIDIA A100-SXM4-80GB", tier, memoryMb: 81_920, isSimulated: false },
});

test("a divided card is replaced by its parts, which have its tier and memory of their own", () => {
  const gpus = withMigDevices([card(0, null), card(1, "AMPERE_80")], LISTING);
  expect(gpus.map(({ index, memoryMb, tier }) => [index, memoryMb, tier])).toEqual([
    [1_000, 38_912, "AMPERE_80"],
    [1_001, 9_728, "AMPERE_80"],
    [1_002, 9_728, "AMPERE_80"],
    [1, 81_920, "AMPERE_80"],
  ]);
  expect(gpus[0]).toMatchObject({
    name: "NVIDIA A100-SXM4-80GB MIG 3g.40gb",
    migUuid: "MIG-7089d0f3-293f-58c9-8f8c-5ea666eedbde",
  });
  for (const gpu of gpus) expect(gpuSchema.parse(gpu)).toEqual(gpu);
});

test("a worker that declares as many GB as the name of a part has fits on it", () => {
  for (const { name, memoryMb } of withMigDevices([card(0, null)], LISTING)) {
    const gpuMemoryGb = Number(/(\d+)gb/.exec(name)?.[1]);
    expect(gpuMemoryMbOf({ gpuMemoryGb })).toBeLessThanOrEqual(memoryMb);
  }
});

test("a card in MIG mode without parts stays, and can not be given away", () => {
  expect(withMigDevices([card(0, null)], "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)")).toEqual([
    card(0, null),
  ]);
});

test("parts are asked for only where a card is divided", async () => {
  const directory = await mkdtemp(join(tmpdir(), "edgerun-mig-"));
  const command = join(directory, "nvidia-smi");
  const script = (mode: string) =>
    writeFile(
      command,
      `#!/bin/sh\nif [ "$*" = "-L" ]; then cat <<'END'\n${LISTING}\nEND\nelse echo "0, NVIDIA A100-SXM4-80GB, 81920, ${mode}"; fi\n`,
      { mode: 0o755 },
    );
  await script("Enabled");
  expect(await readGpus(command)).toMatchObject({
    gpus: [{ index: 1_000 }, { index: 1_001 }, { index: 1_002 }],
  });
  await script("Disabled");
  expect(await readGpus(command)).toMatchObject({ gpus: [{ index: 0, tier: "AMPERE_80" }] });
  await rm(directory, { recursive: true });
});
