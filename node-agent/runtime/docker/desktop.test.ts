import { test } from "vitest";
import { Desktop } from "./desktop.ts";

/** Reserved for documentation, so no address of this computer. */
const GATEWAY_ELSEWHERE = "192.0.2.1";
const ports = { port: 8_000, healthPort: 8_001 };
const spec = {
  ...{ workerId: "w1", endpointId: "e1", revision: 1, imageName: "image", dockerArgs: "", env: {} },
  ...{ containerDiskInGb: 0, gpuIndexes: [5, 6, 7], registryAuth: null, serverPorts: ports },
};
const artifact = { sha256: "0".repeat(64), sizeBytes: 1 };
const inspected = {
  NetworkSettings: { Ports: { "8000/tcp": [{ HostPort: "40000" }], "8001/tcp": [{ HostPort: "40001" }] } },
} as unknown as Parameters<Desktop["publishedServer"]>[0];

test("workers share the GPUs that are there", ({ expect }) => {
  expect(new Desktop([0, 1]).withSharedGpus(spec).gpuIndexes).toEqual([0, 1]);
  expect(new Desktop([]).withSharedGpus(spec).gpuIndexes).toEqual([]);
});

test("only images that run an artifact are bound to its platform", ({ expect }) => {
  const desktop = new Desktop([]);
  expect(desktop.adapt({ Image: "image" }, { ...spec, artifact })).toEqual({
    Image: "image",
    platform: "linux/amd64",
  });
  expect(desktop.adapt({ Image: "image" }, spec)).toEqual({ Image: "image" });
});

test("containers on a network of this computer are reached at their own address", async ({ expect }) => {
  const desktop = new Desktop([]);
  expect(await desktop.agentAddress("127.0.0.1")).toBe("127.0.0.1");
  expect(desktop.publishedServer(inspected, ports)).toBeUndefined();
});

test("containers in Docker's virtual machine are reached by published ports and given its name for this computer", async ({
  expect,
}) => {
  const desktop = new Desktop([]);
  expect(await desktop.agentAddress(GATEWAY_ELSEWHERE)).toBe("host.docker.internal");
  const { ExposedPorts, HostConfig } = desktop.adapt({ HostConfig: { Init: true } }, spec);
  expect(Object.keys(ExposedPorts ?? {})).toEqual(["8000/tcp", "8001/tcp"]);
  expect(HostConfig).toMatchObject({ Init: true, ExtraHosts: ["host.docker.internal:host-gateway"] });
  expect(HostConfig?.PortBindings).toMatchObject({ "8000/tcp": [{ HostIp: "127.0.0.1" }] });
  expect(desktop.publishedServer(inspected, ports)).toEqual({
    host: "127.0.0.1",
    port: 40_000,
    healthPort: 40_001,
  });
});
