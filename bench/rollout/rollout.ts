/**
 * What clients feel of releases: `node bench/rollout/rollout.ts [workers] [clients] [seconds]`.
 *
 * Clients submit jobs of 0.2 to 1 s without pause, to real containers where Docker is there and to plain processes
 * otherwise, while the variables are changed, then the image, then to a release that fails, and back.
 */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Dockerode from "dockerode";
import getPort from "get-port";
import { Launch } from "../../test/support/launch.ts";
import { QueueClient } from "../../test/support/queue-client.ts";
import { RolloutEndpoint } from "../../test/support/rollout-endpoint.ts";
import { ensureScriptImage } from "../../test/support/script-image.ts";
import { SteadyLoad, type LoadedJob } from "../../test/support/steady-load.ts";

const [WORKERS = 3, CLIENTS = 3, SECONDS = 20] = process.argv.slice(2).map(Number);
const SCRIPT = join(import.meta.dirname, "../../test/support/worker-script.mjs");
const OTHER_TAG = `rolled-${process.pid}`;

type Phase = { readonly name: string; readonly from: number; readonly end: number; readonly samples: number };

const hasDocker = await new Dockerode().ping().then(
  () => true,
  () => false,
);
const imageName = hasDocker ? await ensureScriptImage() : "any:1";
const repo = imageName.split(":")[0] ?? "";
const dockerArgs = hasDocker ? "" : `"${process.execPath}" "${SCRIPT}"`;
if (hasDocker) await new Dockerode().getImage(imageName).tag({ repo, tag: OTHER_TAG });

const stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-bench-"));
const port = await getPort({ host: "127.0.0.1" });
const options = ["--no-example", "--runtime", hasDocker ? "docker" : "process"];
const launch = new Launch({ via: "script", port, stateDirectory, options });
try {
  await launch.settled();
  const apiKey = readFileSync(join(stateDirectory, "api-key"), "utf8").trim();
  await measure({ baseUrl: launch.record.url, apiKey });
} finally {
  await launch.stop();
  await rm(stateDirectory, { recursive: true, force: true });
  if (hasDocker) await new Dockerode().getImage(`${repo}:${OTHER_TAG}`).remove();
}

async function measure(target: { readonly baseUrl: string; readonly apiKey: string }): Promise<void> {
  const variables = (word: string, more: Readonly<Record<string, string>> = {}) =>
    Object.entries({ WORD: word, ...more }).map(([key, value]) => ({ key, value }));
  const command = { imageName, dockerArgs, workers: WORKERS, env: { WORD: "one" } };
  const endpoint = await RolloutEndpoint.open(target, command);
  const job = () => ({ mock_env: "WORD", mock_delay: 0.2 + 0.8 * Math.random() });
  const load = new SteadyLoad({ ...target, endpointId: endpoint.endpointId }, CLIENTS, job);
  const phases: Phase[] = [];
  const phase = async (name: string, work: () => Promise<void>) => {
    const [from, samples] = [performance.now(), endpoint.samples.length];
    await work();
    phases.push({ name, from, end: performance.now(), samples });
  };
  const forAWhile = async () => {
    const end = performance.now() + SECONDS * 1_000;
    await endpoint.until(() => performance.now() >= end);
  };
  const replaced = (version: number) => () => endpoint.untilReplaced(WORKERS, version);

  await phase("no release", forAWhile);
  await endpoint.change({ env: variables("two") });
  await phase("other variables", replaced(2));
  await phase("no release", forAWhile);
  await endpoint.change({ imageName: hasDocker ? `${repo}:${OTHER_TAG}` : "any:2" });
  await phase("another image", replaced(3));
  await phase("no release", forAWhile);
  await endpoint.change({ env: variables("bad", { MOCK_EXIT_AT_START: "3" }) });
  await phase("a release that fails", forAWhile);
  await endpoint.change({ env: variables("four") });
  await phase("its repair", replaced(5));
  await phase("no release", forAWhile);
  await load.stop();

  const { jobs } = await new QueueClient({ ...target, endpointId: endpoint.endpointId }).health();
  print(endpoint, load.jobs, phases);
  const lastJobs = load.jobs.filter(({ submittedAt }) => submittedAt >= (phases.at(-1)?.from ?? 0));
  const last = new Set(lastJobs.map(({ reply }) => reply.output));
  console.log(
    `${load.jobs.length} jobs, ${jobs.failed} failed, ${jobs.retried} retried; after the last release all said ${[...last].join()}.`,
  );
}

function print(endpoint: RolloutEndpoint, jobs: readonly LoadedJob[], phases: readonly Phase[]): void {
  const runtime = hasDocker ? "containers" : "processes";
  console.log(`\n${WORKERS} workers (workersMax ${WORKERS}), ${CLIENTS} clients, ${runtime}\n`);
  console.log("| phase | s | jobs | not completed | waited p50, p95, max ms | workers | ready |");
  console.log("| ----- | - | ---- | ------------- | ----------------------- | ------- | ----- |");
  for (const [index, { name, from, end, samples }] of phases.entries()) {
    const inside = jobs.filter(({ submittedAt }) => submittedAt >= from && submittedAt < end);
    const waited = inside.map(({ reply }) => waitOf(reply)).toSorted((a, b) => a - b);
    const at = (share: number) => Math.round(waited[Math.floor(share * (waited.length - 1))] ?? 0);
    const seen = endpoint.samples.slice(samples, phases[index + 1]?.samples);
    const span = (values: readonly number[]) => `${Math.min(...values)}–${Math.max(...values)}`;
    const columns = [
      name,
      ((end - from) / 1_000).toFixed(1),
      inside.length,
      inside.filter(({ reply }) => reply.status !== "COMPLETED").length,
      `${at(0.5)}, ${at(0.95)}, ${at(1)}`,
      span(seen.map(({ all }) => all)),
      span(seen.map(({ ready }) => ready)),
    ];
    console.log(`| ${columns.join(" | ")} |`);
  }
}

/** Milliseconds from the submission of a job to the moment when a worker took it. */
function waitOf(reply: object): number {
  return "delayTime" in reply && typeof reply.delayTime === "number" ? reply.delayTime : 0;
}
