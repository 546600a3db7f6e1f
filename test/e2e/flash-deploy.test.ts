/**
 * `flash deploy` to an edge without hosts: what is declared arrives, and a run that was killed is finished by the next,
 * which sends nothing twice that had arrived.
 */
import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { beforeAll, inject, test } from "vitest";
import { managementApi } from "../../standalone/management-api.ts";
import { ARTIFACT_PART_BYTES } from "../../src/management/flash/artifact-parts.ts";
import { EdgeProxy } from "../cli/support/edge-proxy.ts";
import { CommandFixture } from "../cli/support/flash-command.ts";
import { CountingProxy } from "../support/counting-proxy.ts";
import type { EdgeAccess } from "../support/lone-edge.ts";
import { newAccount } from "../support/shared-edge.ts";

const PART_BYTES = ARTIFACT_PART_BYTES.min;
/** What a deployment sends beside the artifact is less. */
const CALLS_BYTES = 500_000;

type Deployed = {
  readonly buildId: string;
  readonly endpoints: readonly {
    readonly name: string;
    readonly id: string;
    readonly action: string;
    readonly changes: readonly string[];
  }[];
  readonly removed: readonly { readonly name: string; readonly isDeleted: boolean }[];
};

const APP = `
from edgerun import Endpoint

@Endpoint(name="first", cpu="cpu3c-1-2")
def first(): return 1

@Endpoint(name="second", cpu="cpu3c-1-2")
def second(): return 2
`;

/** Every setting is something else than its default. */
const SETTINGS_APP = `
import os
from edgerun import CudaVersion, DataCenter, Endpoint, GpuGroup, NetworkVolume, PodTemplate, ServerlessScalerType

@Endpoint(
    name="big", gpu=GpuGroup.ADA_24, gpu_count=2, workers=(0, int(os.environ.get("MOST", "2"))), idle_timeout=7,
    execution_timeout_ms=61_000, flashboot=False, scaler_type=ServerlessScalerType.REQUEST_COUNT, scaler_value=9,
    datacenter=DataCenter.US_KS_2, min_cuda_version=CudaVersion.V12_4, env={"MODE": "fast", "KEPT": "1"},
    volume=NetworkVolume(name="models", id="gone", size=20, datacenter=DataCenter.US_KS_2),
    template=PodTemplate(
        containerDiskInGb=99, imageName="mine/base:1", dockerArgs="--x", ports="8000/http, 22/tcp",
        env={"MODE": "slow", "OF_TEMPLATE": "1"},
    ),
)
def big(): return 1
`;
const OTHER_APP = `
from edgerun import Endpoint

@Endpoint(name="other", cpu="cpu3c-1-2")
def other(): return 2

vllm = Endpoint(name="vllm", image="vllm/vllm-openai:v1")
`;

const bundle = inject("flashBundle");
let edge: EdgeAccess;

beforeAll(async () => {
  edge = await newAccount("flash deploy");
});

async function openFixture(
  url: string,
  files: Readonly<Record<string, string>> = { "app.py": APP },
): Promise<CommandFixture> {
  const fixture = await CommandFixture.open(bundle, { EDGERUN_URL: url, SVC_API_KEY: edge.apiKey });
  for (const [path, text] of Object.entries(files)) await fixture.write(path, text);
  return fixture;
}

/** The command as a process that can be killed. */
function start(fixture: CommandFixture, args: readonly string[]) {
  return execa(join(fixture.commands, "flash"), args, {
    cwd: fixture.project,
    env: fixture.environment,
    extendEnv: false,
    stdin: "ignore",
    reject: false,
  });
}

async function deployed(fixture: CommandFixture, args = "", variables = ""): Promise<Deployed> {
  const { stdout, stderr, exitCode } = await fixture.run(`${variables} flash deploy --json ${args}`);
  if (exitCode !== 0) throw new Error(`flash deploy ended with ${exitCode}:\n${stderr}`);
  return JSON.parse(stdout) as Deployed;
}

type Shown = Readonly<Record<string, unknown>>;

/** What an app's only environment has, as GraphQL shows it; endpoints by name. */
async function environmentOf(app: string): Promise<{ endpoints: readonly Shown[]; networkVolumes: Shown[] }> {
  const { flashAppByName } = await managementApi(edge.baseUrl, edge.apiKey).query<{
    flashAppByName: { flashEnvironments: { endpoints: Shown[]; networkVolumes: Shown[] }[] };
  }>(
    `query ($app: String) { flashAppByName(flashAppName: $app) { flashEnvironments {
      networkVolumes { name size dataCenterId }
      endpoints {
        name gpuIds gpuCount instanceIds workersMax idleTimeout executionTimeoutMs flashBootType scalerType scalerValue
        locations minCudaVersion template { imageName containerDiskInGb dockerArgs ports env { key value } }
      }
    } } }`,
    { app },
  );
  const [environment] = flashAppByName.flashEnvironments;
  if (!environment) throw new Error(`${app} has no environment.`);
  const names = (one: Shown, other: Shown) => String(one["name"]).localeCompare(String(other["name"]));
  return { ...environment, endpoints: environment.endpoints.toSorted(names) };
}

test("what an endpoint declares arrives at the service, volumes by name where an id is stale", async ({
  expect,
}) => {
  await using fixture = await openFixture(edge.baseUrl, { "big.py": SETTINGS_APP, "other.py": OTHER_APP });
  const first = await deployed(fixture, "--app settings");
  expect(first.endpoints.map(({ name, action }) => [name, action])).toEqual([
    ["big", "created"],
    ["other", "created"],
    ["vllm", "created"],
  ]);
  const { endpoints, networkVolumes } = await environmentOf("settings");
  const [big, other] = endpoints;
  expect(networkVolumes).toEqual([{ name: "models", size: 20, dataCenterId: "US-KS-2" }]);
  expect(big).toMatchObject({
    gpuIds: "ADA_24",
    gpuCount: 2,
    workersMax: 2,
    idleTimeout: 7,
    executionTimeoutMs: 61_000,
    flashBootType: "OFF",
    scalerType: "REQUEST_COUNT",
    scalerValue: 9,
    locations: "US-KS-2",
    minCudaVersion: "12.4",
    template: {
      containerDiskInGb: 99,
      imageName: "mine/base:1",
      dockerArgs: "--x",
      ports: "8000/http,22/tcp",
      env: expect.arrayContaining([
        { key: "MODE", value: "fast" },
        { key: "KEPT", value: "1" },
        { key: "OF_TEMPLATE", value: "1" },
      ]),
    },
  });
  expect(other).toMatchObject({ instanceIds: ["cpu3c-1-2"], template: { containerDiskInGb: 10 } });

  const again = await deployed(fixture, "--app settings");
  expect(again.endpoints.map(({ action }) => action)).toEqual(["unchanged", "unchanged", "unchanged"]);
});

test("a change updates and keeps the rest; what the app no longer has is listed, and goes with --prune", async ({
  expect,
}) => {
  await using fixture = await openFixture(edge.baseUrl, { "big.py": SETTINGS_APP });
  const changed = await deployed(fixture, "--app settings", "MOST=3");
  expect(changed.endpoints).toMatchObject([
    { name: "big", action: "updated", changes: ["code", "workersMax"] },
  ]);
  expect(changed.removed).toMatchObject([
    { name: "other", isDeleted: false },
    { name: "vllm", isDeleted: false },
  ]);
  const [big, ...others] = (await environmentOf("settings")).endpoints;
  expect(big).toMatchObject({
    workersMax: 3,
    template: { env: expect.arrayContaining([{ key: "KEPT", value: "1" }]) },
  });
  expect(others).toHaveLength(2);

  const pruned = await deployed(fixture, "--app settings --prune", "MOST=3");
  expect(pruned.endpoints.map(({ action }) => action)).toEqual(["unchanged"]);
  expect(pruned.removed.map(({ isDeleted }) => isDeleted)).toEqual([true, true]);
  expect((await environmentOf("settings")).endpoints).toHaveLength(1);
});

test("killed in the middle of an upload of three parts, it sends what is missing and no more", async ({
  expect,
}) => {
  await using proxy = await CountingProxy.open(edge.baseUrl);
  await using fixture = await openFixture(proxy.url);
  // Random bytes: packed they are as many.
  await fixture.write("weights.bin", randomBytes(2.5 * PART_BYTES));
  const first = start(fixture, ["deploy"]);
  await proxy.sent(1.5 * PART_BYTES);
  first.kill("SIGKILL");
  expect((await first).signal).toBe("SIGKILL");

  proxy.takeCount();
  const { endpoints } = await deployed(fixture);
  const { size } = await stat(join(fixture.project, ".flash/artifact.tar.gz"));
  const sent = proxy.takeCount();
  console.info(`of ${size} bytes ${sent} were sent in the second run`);
  // The second part may have arrived before the signal did.
  const missing = [1, 2].map((whole) => size - whole * PART_BYTES);
  expect(missing.filter((bytes) => sent > bytes && sent < bytes + CALLS_BYTES)).toHaveLength(1);
  expect(endpoints.map(({ name, action }) => [name, action])).toEqual([
    ["first", "created"],
    ["second", "created"],
  ]);

  await deployed(fixture);
  expect(proxy.takeCount()).toBeLessThan(CALLS_BYTES);
});

test("killed or cancelled at any moment of a deployment, it makes each endpoint once", async ({ expect }) => {
  await using proxy = await CountingProxy.open(edge.baseUrl);
  await using fixture = await openFixture(proxy.url);
  const end = async (signal: NodeJS.Signals, bytes: number) => {
    proxy.takeCount();
    const killed = start(fixture, ["deploy", "--app", "killed"]);
    await Promise.race([proxy.sent(bytes), killed]);
    killed.kill(signal);
    const { exitCode } = await killed;
    if (signal !== "SIGKILL") expect(exitCode).toBe(130);
  };
  await end("SIGINT", 2_000);
  const { size } = await stat(join(fixture.project, ".flash/artifact.tar.gz"));
  await end("SIGKILL", size + 4_000);
  // The artifact is there by now.
  await end("SIGTERM", 4_000);
  await end("SIGKILL", 7_000);
  const { endpoints } = await deployed(fixture, "--app killed");
  const again = await deployed(fixture, "--app killed");
  expect(again.endpoints.map(({ action }) => action)).toEqual(["unchanged", "unchanged"]);
  expect(again.endpoints.map(({ id }) => id)).toEqual(endpoints.map(({ id }) => id));
  expect((await environmentOf("killed")).endpoints).toHaveLength(2);
});

test("Ctrl+C while endpoints are saved is reported, and leaves an environment that is FAILED", async ({
  expect,
}) => {
  await using proxy = await EdgeProxy.open(edge.baseUrl);
  await using fixture = await openFixture(proxy.url);
  // Its artifact is there by then, so that only calls go through the proxy.
  await deployed(fixture, "--app cut", `EDGERUN_URL=${edge.baseUrl}`);
  const isSaving = new Promise<void>((resolve) =>
    proxy.when("saveEndpoint", () => {
      resolve();
      return new Promise(() => undefined);
    }),
  );
  const cut = start(fixture, ["deploy", "--app", "cut", "--env", "later"]);
  await Promise.race([isSaving, cut]);
  cut.kill("SIGINT");
  const { exitCode, stderr } = await cut;
  expect(exitCode).toBe(130);
  expect(stderr).toContain("Deploying to later was interrupted.");
  const { flashAppByName } = await managementApi(edge.baseUrl, edge.apiKey).query<{
    flashAppByName: { flashEnvironments: { name: string; state: string }[] };
  }>(`{ flashAppByName(flashAppName: "cut") { flashEnvironments { name state } } }`);
  expect(flashAppByName.flashEnvironments).toContainEqual({ name: "later", state: "FAILED" });
});

test("two deployments at once make each endpoint once", async ({ expect }) => {
  await using one = await openFixture(edge.baseUrl);
  await using other = await openFixture(edge.baseUrl);
  const runs = await Promise.all([one, other].map((fixture) => deployed(fixture, "--app twice")));
  const ids = runs.map(({ endpoints }) => endpoints.map(({ name, id }) => [name, id]));
  expect(ids[0]).toEqual(ids[1]);
});

test("a deployment whose workers cannot start fails with the edge's reason, unless it does not wait", async ({
  expect,
}) => {
  const app = APP.replace('"cpu3c-1-2"', '"cpu3c-1-2", workers=(1, 1)');
  await using fixture = await openFixture(edge.baseUrl, { "app.py": app });
  const { stdout, stderr, exitCode } = await fixture.run("flash deploy --app stuck --json");
  expect(exitCode).toBe(1);
  const { workers } = JSON.parse(stdout) as { workers: readonly object[] };
  expect(workers).toEqual([
    expect.objectContaining({ name: "first", state: "failed", reason: expect.stringContaining("No host") }),
    expect.objectContaining({ name: "second", state: "idle" }),
  ]);
  expect(stderr).toContain("first: No host");
  expect((await fixture.run("flash deploy --app stuck")).exitCode).toBe(1);
  expect((await fixture.run("flash deploy --app stuck --no-wait")).exitCode).toBe(0);
});
