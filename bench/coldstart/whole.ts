/**
 * Cold starts through all of Edgerun beside a bare `docker run` of the same image:
 * `node bench/coldstart/whole.ts [rounds] [image]`.
 *
 * A start is the time from the submission of a job to an endpoint at zero until the job is with its worker; of a bare
 * container, until its own job poll has arrived. Both endpoints have idleTimeout 1; the kinds take turns.
 */
import { setTimeout as delay } from "node:timers/promises";
import { join, resolve } from "node:path";
import Dockerode from "dockerode";
import { ensureHelloImage } from "../../scripts/images/node-image.ts";
import { startAgent } from "../../standalone/agent.ts";
import { createJoinToken, type ManagementApi } from "../../standalone/management-api.ts";
import type { JobView } from "../../src/contract/job.ts";
import { Edge } from "../contestants/edge.ts";
import { latencyOf } from "../load/percentiles.ts";
import { BareContainers } from "./bare-containers.ts";

const ROUNDS = Number(process.argv[2] ?? 20);
const IMAGE = process.argv[3] ?? (await ensureHelloImage()).image;
const LOOK_MS = 25;
/** The agent and Docker have come to rest. */
const REST_MS = 500;

const docker = new Dockerode();

type Endpoint = { readonly id: string; readonly name: string; readonly rest: "paused" | "none" };

async function createEndpoint(api: ManagementApi, name: string, flashBootType: string): Promise<string> {
  const template = { name, imageName: IMAGE, dockerArgs: "", env: [], containerDiskInGb: 5, volumeInGb: 0 };
  const { saveTemplate } = await api.query<{ saveTemplate: { id: string } }>(
    "mutation ($input: SaveTemplateInput) { saveTemplate(input: $input) { id } }",
    { input: { ...template, isServerless: true } },
  );
  const settings = {
    name,
    templateId: saveTemplate.id,
    gpuIds: "ADA_24",
    idleTimeout: 1,
    workersMax: 1,
    flashBootType,
  };
  const { saveEndpoint } = await api.query<{ saveEndpoint: { id: string } }>(
    "mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { id } }",
    { input: settings },
  );
  return saveEndpoint.id;
}

async function untilAtRest({ id, rest }: Endpoint): Promise<void> {
  for (;;) {
    const filters = { label: [`edgerun.endpoint=${id}`] };
    const found = await docker.listContainers({ all: true, filters });
    const isThere =
      rest === "none"
        ? found.length === 0
        : found.every(({ State }) => State === "paused") && found.length === 1;
    if (isThere) break;
    await delay(LOOK_MS);
  }
  await delay(REST_MS);
}

type Start = { readonly ms: number; readonly parts: Readonly<Record<string, number>> };

/** Time from its submission until a worker has the next job of the endpoint, and what it consists of. */
async function start(edge: Edge, endpoint: Endpoint): Promise<Start> {
  const job = (await edge.call(
    endpoint.id,
    "POST",
    "runsync",
    JSON.stringify({ input: { name: "bench" } }),
  )) as { id: string };
  const path = `status/${job.id}?timeline=1`;
  const done = (await edge.call(endpoint.id, "GET", path)) as Pick<JobView, "timeline" | "coldStart">;
  const at = (event: string): number => done.timeline?.find((each) => each.event === event)?.at ?? Number.NaN;
  const whole = at("handler_started") - at("submitted");
  const { totalMs = 0, parts = {} } = done.coldStart ?? {};
  // What no part of the start has: until the host was chosen, and from the first poll to the handler.
  return { ms: whole, parts: { ...parts, edge: whole - totalMs } };
}

await using stack = new AsyncDisposableStack();
const edge = stack.use(await Edge.start());
const agent = await startAgent({
  program: resolve(import.meta.dirname, "../../node-agent/main.ts"),
  edgeUrl: edge.url,
  stateDirectory: join(edge.stateDirectory, "agent"),
  logPath: join(edge.stateDirectory, "agent.log"),
  runtime: "docker",
  joinToken: await createJoinToken(edge.management, "bench"),
});
stack.defer(() => agent.stop());
const bare = stack.use(await BareContainers.open(docker));

const endpoints: readonly Endpoint[] = [
  { name: "plain cold start", rest: "none", id: await createEndpoint(edge.management, "plain", "OFF") },
  {
    name: "FLASHBOOT start",
    rest: "paused",
    id: await createEndpoint(edge.management, "flashboot", "FLASHBOOT"),
  },
];
const figures = new Map<string, number[]>();
const split = new Map<string, Map<string, number[]>>();
const note = (name: string, ms: number) => figures.set(name, [...(figures.get(name) ?? []), ms]);

function noteStart(name: string, ms: number, parts: Start["parts"]): void {
  note(name, ms);
  const known = split.get(name) ?? new Map<string, number[]>();
  for (const [part, partMs] of Object.entries(parts)) known.set(part, [...(known.get(part) ?? []), partMs]);
  split.set(name, known);
}

for (let round = -1; round < ROUNDS; round += 1) {
  const runMs = await bare.start("docker run", IMAGE);
  if (round >= 0) note("docker run", runMs); // the first round warms up
  for (const endpoint of endpoints) {
    const { ms, parts } = await start(edge, endpoint);
    if (round >= 0) noteStart(endpoint.name, ms, parts);
    await untilAtRest(endpoint);
  }
}
console.log(`${IMAGE}, ${ROUNDS} rounds, ms\n\n| Start | p50 | p99 |\n| --- | ---: | ---: |`);
for (const [name, ms] of figures) {
  const { p50, p99 } = latencyOf(ms);
  console.log(`| ${name} | ${p50.toFixed(0)} | ${p99.toFixed(0)} |`);
}
const parts = [...(split.get("plain cold start")?.keys() ?? [])];
console.log(`\n| p50 of a part | ${parts.join(" | ")} |\n| --- |${" ---: |".repeat(parts.length)}`);
for (const [name, known] of split) {
  const cells = parts.map((part) => latencyOf(known.get(part) ?? [0]).p50.toFixed(0));
  console.log(`| ${name} | ${cells.join(" | ")} |`);
}
