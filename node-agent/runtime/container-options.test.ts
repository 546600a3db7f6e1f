import { describe, test } from "vitest";
import { type ContainerSettings, containerOptions, ownerOfLabels } from "./container-options.ts";
import type { WorkerSpec } from "./runtime.ts";

const spec: WorkerSpec = {
  workerId: "w1",
  endpointId: "e1",
  revision: 3,
  imageName: "team/model:1",
  dockerArgs: "",
  env: { TOKEN: "a=b", NVIDIA_VISIBLE_DEVICES: "all" },
  containerDiskInGb: 10,
  gpuIndexes: [1, 3],
  registryAuth: null,
};
const settings: ContainerSettings = {
  hostId: "h1",
  networkName: "edgerun",
  hasRealGpus: true,
  memoryLimitBytes: null,
  pidsLimit: 100,
};

describe("containerOptions", () => {
  test("asks for exactly the worker's own GPUs", ({ expect }) => {
    const options = containerOptions(spec, settings);
    expect(options.HostConfig?.DeviceRequests).toEqual([
      { Driver: "nvidia", DeviceIDs: ["1", "3"], Capabilities: [["gpu"]] },
    ]);
    expect(options.Env).toContain("NVIDIA_VISIBLE_DEVICES=1,3");
  });

  test.for([
    { why: "the worker has none", changes: { gpuIndexes: [] }, hasRealGpus: true },
    { why: "they are simulated", changes: {}, hasRealGpus: false },
  ])("asks for no GPU when $why, and hides those of the host", ({ changes, hasRealGpus }, { expect }) => {
    const options = containerOptions({ ...spec, ...changes }, { ...settings, hasRealGpus });
    expect(options.HostConfig).not.toHaveProperty("DeviceRequests");
    expect(options.Env).toEqual(["TOKEN=a=b", "NVIDIA_VISIBLE_DEVICES=void"]);
  });

  test("gives away no rights and nothing of the host", ({ expect }) => {
    const { HostConfig } = containerOptions(spec, settings);
    expect(HostConfig).toMatchObject({
      Init: true,
      Privileged: false,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      PidsLimit: 100,
      NetworkMode: "edgerun",
      RestartPolicy: { Name: "no" },
      LogConfig: { Type: "json-file", Config: { "max-size": "10m", "max-file": "3" } },
    });
    for (const name of ["Binds", "Mounts", "CapAdd", "Devices", "PortBindings"]) {
      expect(HostConfig).not.toHaveProperty(name);
    }
  });

  test("limits memory, swap included, only when told to", ({ expect }) => {
    expect(containerOptions(spec, settings).HostConfig).not.toHaveProperty("Memory");
    expect(containerOptions(spec, { ...settings, memoryLimitBytes: 5_000 }).HostConfig).toMatchObject({
      Memory: 5_000,
      MemorySwap: 5_000,
    });
  });

  test("empty start arguments leave the image's own command, others replace it", ({ expect }) => {
    expect(containerOptions(spec, settings)).not.toHaveProperty("Cmd");
    expect(containerOptions({ ...spec, dockerArgs: "python -u 'a b.py'" }, settings).Cmd).toEqual([
      "python",
      "-u",
      "a b.py",
    ]);
  });

  test("start arguments that are an object replace the entry point as well", ({ expect }) => {
    const dockerArgs = '{"entrypoint":["tini","--"],"cmd":["a b"]}';
    expect(containerOptions({ ...spec, dockerArgs }, settings)).toMatchObject({
      Entrypoint: ["tini", "--"],
      Cmd: ["a b"],
    });
    const other = containerOptions({ ...spec, dockerArgs: '{"other":1}' }, settings);
    expect(other).not.toHaveProperty("Entrypoint");
  });

  test("names its owner in labels, from which it is read again", ({ expect }) => {
    const { name, Labels } = containerOptions(spec, settings);
    expect(name).toBe("edgerun-w1");
    expect(Labels).toMatchObject({ "edgerun.host": "h1" });
    expect(ownerOfLabels(Labels ?? {})).toEqual({ workerId: "w1", endpointId: "e1", revision: 3 });
    expect(ownerOfLabels({ "com.example": "x" })).toBeNull();
  });
});
