import { describe, test } from "vitest";
import { registryDenial, type RegistryPolicy } from "./registry-access.ts";

const CLOSED: RegistryPolicy = { allowedRegistries: [], allowedNetworks: [] };
const nowhere = async () => [];

describe("a registry on the Internet", () => {
  test.for([
    "busybox",
    "team/model:1",
    "docker.io/team/model",
    "ghcr.io/team/model:1",
    "registry.example:5000/x",
    "93.184.216.34:5000/x",
    "localhost.example/x",
  ])("is asked for %s", async (image, { expect }) => {
    expect(await registryDenial(image, CLOSED, nowhere)).toBeNull();
  });
});

describe("a registry on the host's own network", () => {
  test.for([
    "10.0.0.5:5000/x",
    "10.0.0.5/x",
    "172.31.255.255/x",
    "192.168.1.1:80/a/b:1",
    "127.0.0.1:2375/x",
    "localhost/x",
    "localhost:2375/x",
    "LOCALHOST:2375/x",
    "app.localhost:1/x",
    "127.1:5000/x",
    "2130706433:5000/x",
    "0x7f.1/x",
    "0177.0.0.1:80/x",
    "0.0.0.0:80/x",
    "169.254.169.254/latest/meta-data",
    "168.63.129.16/x",
    "100.100.100.200/x",
    "192.0.0.192/x",
    "metadata.google.internal/x",
    "registry:5000/x",
    "nas.local/x",
    "db.home.arpa:5432/x",
    "10.0.0.5:5000/x@sha256:aa",
  ])("is not asked for %s", async (image, { expect }) => {
    const denial = await registryDenial(image, CLOSED, nowhere);
    expect(denial).toContain("--allow-registry");
    expect(denial).toContain(image);
  });

  test.for([
    [["10.0.0.5"]],
    [["93.184.216.34", "10.0.0.5"]],
    [["::1"]],
    [["::ffff:10.0.0.5"]],
    [["fd00:ec2::254"]],
    [["168.63.129.16"]],
  ] as const)("is not asked by a public name for %j", async ([addresses], { expect }) => {
    const denial = await registryDenial("evil.example/x", CLOSED, async () => addresses);
    expect(denial).toContain("evil.example");
  });

  test.for([
    ["10.0.0.5:5000/x", { allowedRegistries: ["10.0.0.5:5000"], allowedNetworks: [] }],
    ["10.0.0.5:5000/x", { allowedRegistries: ["10.0.0.5"], allowedNetworks: [] }],
    ["10.0.0.5:5000/x", { allowedRegistries: [], allowedNetworks: ["10.0.0.0/8"] }],
    ["registry:5000/x", { allowedRegistries: ["registry:5000"], allowedNetworks: [] }],
    ["localhost:5000/x", { allowedRegistries: ["*"], allowedNetworks: [] }],
    ["corp.example/x", { allowedRegistries: ["corp.example"], allowedNetworks: [] }],
    ["corp.example/x", { allowedRegistries: [], allowedNetworks: ["10.0.0.0/24"] }],
  ] as const)("is asked for %s where the owner allows it: %j", async ([image, terms], { expect }) => {
    expect(await registryDenial(image, terms, async () => ["10.0.0.5"])).toBeNull();
  });

  test("is not opened by what is allowed beside it", async ({ expect }) => {
    const terms = { allowedRegistries: ["10.0.0.5:5000"], allowedNetworks: ["10.1.0.0/16"] };
    expect(await registryDenial("10.0.0.5:2375/x", terms, nowhere)).not.toBeNull();
    expect(await registryDenial("10.0.0.6:5000/x", terms, nowhere)).not.toBeNull();
  });
});
