/** `flash deploy` that is killed: run again, it finishes, and sends nothing twice that had arrived. */
import { randomBytes } from "node:crypto";
import { rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, test } from "vitest";
import { ARTIFACT_PART_BYTES } from "../../src/contract/limits.ts";
import { Desk, layOutBundle } from "../cli/support/flash-command.ts";
import { CountingProxy } from "../support/counting-proxy.ts";
import { type LoneEdge, startLoneEdge } from "../support/lone-edge.ts";

const PART_BYTES = ARTIFACT_PART_BYTES.min;
/** What a deployment sends beside the artifact is less. */
const CALLS_BYTES = 500_000;

type Deployed = {
  readonly buildId: string;
  readonly endpoints: readonly { readonly name: string; readonly id: string; readonly action: string }[];
};

const APP = `
from edgerun import Endpoint

@Endpoint(name="first", cpu="cpu3c-1-2")
def first(): return 1

@Endpoint(name="second", cpu="cpu3c-1-2")
def second(): return 2
`;

let bundle: string;
let edge: LoneEdge;

beforeAll(async () => {
  [bundle, edge] = await Promise.all([layOutBundle(), startLoneEdge()]);
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await rm(dirname(bundle), { recursive: true, force: true });
});

async function openDesk(url: string): Promise<Desk> {
  const desk = await Desk.open(bundle, { EDGERUN_URL: url, SVC_API_KEY: edge.apiKey });
  await desk.write("app.py", APP);
  return desk;
}

/** The command as a process that can be killed. */
function start(desk: Desk, args: readonly string[]) {
  return execa(join(desk.commands, "flash"), args, {
    cwd: desk.project,
    env: desk.environment,
    extendEnv: false,
    stdin: "ignore",
    reject: false,
  });
}

async function deployed(desk: Desk, args = ""): Promise<Deployed> {
  const { stdout, stderr, exitCode } = await desk.run(`flash deploy --json ${args}`);
  if (exitCode !== 0) throw new Error(`flash deploy ended with ${exitCode}:\n${stderr}`);
  return JSON.parse(stdout) as Deployed;
}

test("killed in the middle of an upload of five parts, it sends what is missing and no more", async ({
  expect,
}) => {
  await using proxy = await CountingProxy.open(edge.baseUrl);
  await using desk = await openDesk(proxy.url);
  // Random bytes: packed they are as many.
  await desk.write("weights.bin", randomBytes(4.5 * PART_BYTES));
  const first = start(desk, ["deploy"]);
  await proxy.sent(2.5 * PART_BYTES);
  first.kill("SIGKILL");
  expect((await first).signal).toBe("SIGKILL");

  proxy.takeCount();
  const { endpoints } = await deployed(desk);
  const { size } = await stat(join(desk.project, ".flash/artifact.tar.gz"));
  const sent = proxy.takeCount();
  console.info(`of ${size} bytes ${sent} were sent in the second run`);
  expect(sent).toBeGreaterThan(size - 2 * PART_BYTES);
  expect(sent).toBeLessThan(size - 2 * PART_BYTES + CALLS_BYTES);
  expect(endpoints.map(({ name, action }) => [name, action])).toEqual([
    ["first", "created"],
    ["second", "created"],
  ]);

  await deployed(desk);
  expect(proxy.takeCount()).toBeLessThan(CALLS_BYTES);
});

test("killed or cancelled at any moment of a deployment, it makes each endpoint once", async ({ expect }) => {
  await using proxy = await CountingProxy.open(edge.baseUrl);
  await using desk = await openDesk(proxy.url);
  await desk.run("flash build");
  const { size } = await stat(join(desk.project, ".flash/artifact.tar.gz"));
  const moments = [
    [1, "SIGKILL"],
    [2_000, "SIGINT"],
    [size / 2, "SIGTERM"],
    [size + 4_000, "SIGKILL"],
    // The artifact is there by now.
    [4_000, "SIGTERM"],
    [7_000, "SIGKILL"],
  ] as const;
  for (const [bytes, signal] of moments) {
    proxy.takeCount();
    const killed = start(desk, ["deploy", "--app", "killed"]);
    await Promise.race([proxy.sent(bytes), killed]);
    killed.kill(signal);
    const { exitCode } = await killed;
    if (signal !== "SIGKILL") expect(exitCode).toBe(130);
  }
  const { endpoints } = await deployed(desk, "--app killed");
  const again = await deployed(desk, "--app killed");
  expect(again.endpoints.map(({ action }) => action)).toEqual(["unchanged", "unchanged"]);
  expect(again.endpoints.map(({ id }) => id)).toEqual(endpoints.map(({ id }) => id));
  const { stdout } = await desk.run("flash undeploy list --json --app killed --env production");
  expect((JSON.parse(stdout) as Deployed).endpoints).toHaveLength(2);
});

test("two deployments at once make each endpoint once (trap 10)", async ({ expect }) => {
  await using one = await openDesk(edge.baseUrl);
  await using other = await openDesk(edge.baseUrl);
  const runs = await Promise.all([one, other].map((desk) => deployed(desk, "--app twice")));
  const ids = runs.map(({ endpoints }) => endpoints.map(({ name, id }) => [name, id]));
  expect(ids[0]).toEqual(ids[1]);
});
