import { describe, test } from "vitest";
import {
  artifactsOfContainers,
  bytecodeContainer,
  modelsOfContainers,
  containerOptions as optionsOf,
  type ContainerSettings,
  type HostShare,
  overriddenVariables,
  ownerOfLabels,
} from "./container-options.ts";
import type { WorkerSpec } from "../interface/runtime.ts";

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
  clusterNetworkName: "edgerun-clusters",
  hasRealGpus: true,
  pidsLimit: 100,
  cpuCount: 8,
  clearsPreloads: false,
};
const nothing = {
  volumePath: null,
  artifact: null,
  models: [],
  hasDiskQuota: false,
  allowedVolumeBytes: 0,
};
const containerOptions = (worker: WorkerSpec, how: ContainerSettings, share: HostShare = nothing) =>
  optionsOf(worker, how, share);

describe("containerOptions", () => {
  test("asks for parts of cards by their names", ({ expect }) => {
    const { HostConfig, Env } = containerOptions({ ...spec, gpuDevices: ["MIG-1"] }, settings);
    expect(HostConfig?.DeviceRequests).toMatchObject([{ DeviceIDs: ["MIG-1"] }]);
    expect(Env).toContain("NVIDIA_VISIBLE_DEVICES=MIG-1");
  });

  test("gives the pipes of MPS to workers that share a GPU, and to no others", ({ expect }) => {
    const withMps = { ...settings, mpsDirectory: "/tmp/pipes" };
    const sharing = { ...spec, gpuIndexes: [1], gpuMemoryMb: 3_814 };
    const { HostConfig, Env, Labels } = containerOptions(sharing, withMps);
    expect(HostConfig).toMatchObject({
      IpcMode: "host",
      Mounts: [{ Source: "/tmp/pipes", Target: "/tmp/nvidia-mps" }],
    });
    expect(Env).toContain("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=3814M");
    expect(Labels).toMatchObject({ "edgerun.gpu-memory-mb": "3814" });
    for (const other of [containerOptions(spec, withMps), containerOptions(sharing, settings)]) {
      expect(other.HostConfig).toMatchObject({ IpcMode: "private" });
      expect(other.Env?.join()).not.toContain("MPS");
    }
  });

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

  test("gives a worker with GPUs no other device of the host, whatever template and image ask for", ({
    expect,
  }) => {
    const asking = { ...spec, env: { NVIDIA_NVSWITCH: "enabled", NVIDIA_DRIVER_CAPABILITIES: "all" } };
    const { Env } = containerOptions(asking, settings);
    expect(Env).toContain("NVIDIA_DRIVER_CAPABILITIES=all");
    for (const name of [
      "NVIDIA_NVSWITCH",
      "NVIDIA_MOFED",
      "NVIDIA_IMEX_CHANNELS",
      "NVIDIA_MIG_CONFIG_DEVICES",
    ])
      expect(Env?.filter((variable) => variable.startsWith(`${name}=`))).toEqual([`${name}=`]);
    expect(overriddenVariables(asking, settings)).toEqual(["NVIDIA_NVSWITCH"]);
    expect(overriddenVariables({ ...asking, gpuIndexes: [] }, settings)).toEqual([]);
  });

  test("leaves a template its preloads, but for a toolkit that would load them as root of the host", ({
    expect,
  }) => {
    const preloading = { ...spec, env: { LD_PRELOAD: "/usr/lib/libtcmalloc.so" } };
    expect(containerOptions(preloading, settings).Env).toContain("LD_PRELOAD=/usr/lib/libtcmalloc.so");
    const old = { ...settings, clearsPreloads: true };
    expect(containerOptions(preloading, old).Env).toEqual(
      expect.arrayContaining(["LD_PRELOAD=", "LD_AUDIT="]),
    );
    expect(overriddenVariables(preloading, old)).toEqual(["LD_PRELOAD"]);
    const withoutGpus = { ...preloading, gpuIndexes: [] };
    expect(containerOptions(withoutGpus, old).Env).toContain("LD_PRELOAD=/usr/lib/libtcmalloc.so");
  });

  test("gives away no rights and nothing of the host", ({ expect }) => {
    const { HostConfig } = containerOptions(spec, settings);
    expect(HostConfig).toMatchObject({
      Init: true,
      Privileged: false,
      CapDrop: ["ALL"],
      CapAdd: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"],
      Ulimits: [{ Name: "core", Soft: 0, Hard: 0 }],
      CgroupnsMode: "private",
      SecurityOpt: ["no-new-privileges"],
      PidsLimit: 100,
      NetworkMode: "edgerun",
      RestartPolicy: { Name: "no" },
      LogConfig: { Type: "json-file", Config: { "max-size": "10m", "max-file": "3" } },
    });
    for (const name of ["Binds", "Mounts", "Devices", "PortBindings"]) {
      expect(HostConfig).not.toHaveProperty(name);
    }
  });

  test.for([
    "Binds",
    "Mounts",
    "Devices",
    "DeviceCgroupRules",
    "PortBindings",
    "PidMode",
    "UTSMode",
    "UsernsMode",
    "VolumesFrom",
    "Sysctls",
    "GroupAdd",
    "ExtraHosts",
  ])("no template or image leads to %s", (name, { expect }) => {
    const hostile: WorkerSpec = {
      ...spec,
      imageName: "a --privileged -v /:/host",
      dockerArgs: '{"entrypoint":["sh"],"cmd":["x"],"HostConfig":{"Privileged":true,"Binds":["/:/host"]}}',
      env: { DOCKER_HOST: "unix:///var/run/docker.sock", NVIDIA_VISIBLE_DEVICES: "all" },
    };
    const { HostConfig, ...rest } = containerOptions(hostile, settings);
    expect(HostConfig).not.toHaveProperty(name);
    expect(HostConfig).toMatchObject({ Privileged: false, NetworkMode: "edgerun", IpcMode: "private" });
    expect(rest).not.toHaveProperty("User");
    expect(rest).not.toHaveProperty("Volumes");
  });

  test("memory and CPU have no limit unless one is set", ({ expect }) => {
    const { HostConfig } = containerOptions(spec, settings);
    for (const name of ["Memory", "NanoCpus", "CpuShares", "StorageOpt"]) {
      expect(HostConfig).not.toHaveProperty(name);
    }
  });

  test("a worker with GPUs has its memory, swap included, and its share of the CPUs", ({ expect }) => {
    const limits = { cpuMilli: 2_500, memoryMb: 100 };
    const { HostConfig } = containerOptions({ ...spec, limits }, settings);
    const memory = 100 * 1024 * 1024;
    expect(HostConfig).toMatchObject({ Memory: memory, MemorySwap: memory, CpuShares: 2_560 });
    expect(HostConfig).not.toHaveProperty("NanoCpus");
  });

  test("a CPU worker has the CPUs that were asked for, but never more than there are", ({ expect }) => {
    const worker = { ...spec, gpuIndexes: [] };
    const limits = (cpuMilli: number) => ({ cpuMilli, memoryMb: 0 });
    const { HostConfig } = containerOptions({ ...worker, limits: limits(1_500) }, settings);
    expect(HostConfig).toMatchObject({ NanoCpus: 1_500_000_000 });
    expect(HostConfig).not.toHaveProperty("CpuShares");
    expect(HostConfig).not.toHaveProperty("Memory");
    expect(containerOptions({ ...worker, limits: limits(32_000) }, settings).HostConfig).toMatchObject({
      NanoCpus: 8_000_000_000,
    });
  });

  test("Docker bounds the disk where it can", ({ expect }) => {
    const { HostConfig } = optionsOf(spec, settings, { ...nothing, hasDiskQuota: true });
    expect(HostConfig?.StorageOpt).toEqual({ size: "10000000000" });
  });

  test("files of an app are mounted read-only, and come first on Python's path", ({ expect }) => {
    const sha256 = "a".repeat(64);
    const place = { appPath: "/s/a/app", archivePath: "/s/a/artifact.tar.gz" };
    const options = containerOptions(
      { ...spec, artifact: { sha256, sizeBytes: 1 }, env: { FLASH_DISABLE_UNPACK: "0" } },
      settings,
      { ...nothing, artifact: { ...place, imagePythonPath: "/opt/lib" } },
    );
    expect(options.HostConfig?.Mounts).toMatchObject([
      { Type: "bind", Source: place.appPath, Target: "/app", ReadOnly: true },
      { Type: "bind", Source: place.archivePath, Target: "/root/.runpod/artifact.tar.gz", ReadOnly: true },
    ]);
    expect(options.WorkingDir).toBe("/app");
    expect(options.Env).toEqual(
      expect.arrayContaining([
        "PYTHONPATH=/app:/opt/lib",
        "PYTHONDONTWRITEBYTECODE=1",
        "PYTHONUNBUFFERED=1",
        "FLASH_APP_DIRECTORY=/app",
        "FLASH_BUILD_ARTIFACT_PATH=/root/.runpod/artifact.tar.gz",
        "FLASH_DISABLE_UNPACK=0",
      ]),
    );
    expect(artifactsOfContainers([{ Labels: options.Labels ?? {} }, { Labels: {} }])).toEqual(
      new Set([sha256]),
    );
  });

  test("models are mounted read-only, each alone, and variables name their place", ({ expect }) => {
    const models = ["org/one", "org/two"].map((id) => ({ id, path: `/s/${id}` }));
    const references = ["org/one", "org/two@v1"];
    const worker = { ...spec, models: { source: "http://hub", references, token: "hf_secret" } };
    const options = containerOptions(worker, settings, { ...nothing, models });
    const hub = "/runpod-volume/huggingface-cache/hub";
    expect(options.HostConfig?.Mounts).toMatchObject([
      { Source: "/s/org/one", Target: `${hub}/models--org--one`, ReadOnly: true },
      { Source: "/s/org/two", Target: `${hub}/models--org--two`, ReadOnly: true },
    ]);
    expect(options.Env).toEqual(expect.arrayContaining([`HF_HUB_CACHE=${hub}`, "HF_HUB_OFFLINE=1"]));
    expect(JSON.stringify(options)).not.toContain("hf_secret");
    expect(modelsOfContainers([{ Labels: options.Labels ?? {} }, { Labels: {} }])).toEqual(
      new Set(["org/one", "org/two"]),
    );
    const own = containerOptions({ ...worker, env: { HF_HUB_OFFLINE: "0" } }, settings, {
      ...nothing,
      models,
    });
    expect(own.Env).toContain("HF_HUB_OFFLINE=0");
  });

  test("only a network volume is mounted, and a variable names its path", ({ expect }) => {
    const options = optionsOf(spec, settings, { ...nothing, volumePath: "/srv/volumes/v1" });
    expect(options.HostConfig?.Mounts).toEqual([
      {
        Type: "bind",
        Source: "/srv/volumes/v1",
        Target: "/runpod-volume",
        BindOptions: { Propagation: "rprivate" },
      },
    ]);
    expect(options.HostConfig).not.toHaveProperty("Binds");
    expect(options.Env).toContain("EDGERUN_VOLUME=/runpod-volume");
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

test("what compiles an app has its files to read, and nothing else of host, edge or network", ({
  expect,
}) => {
  const request = {
    hostId: "h",
    imageId: "sha256:1",
    sha256: "ab",
    appPath: "/srv/app",
    program: "print(1)",
  };
  const { Env, Labels, HostConfig } = bytecodeContainer(request);
  expect(Env).toEqual(["NVIDIA_VISIBLE_DEVICES=void"]);
  expect(ownerOfLabels(Labels ?? {})).toBeNull();
  expect(HostConfig).toMatchObject({
    NetworkMode: "none",
    CapDrop: ["ALL"],
    ReadonlyRootfs: true,
    AutoRemove: true,
  });
  expect(HostConfig?.Mounts).toEqual([expect.objectContaining({ Source: "/srv/app", ReadOnly: true })]);
  expect(HostConfig).not.toHaveProperty("Binds");
  expect(HostConfig).not.toHaveProperty("DeviceRequests");
});
