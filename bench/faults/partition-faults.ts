/** The network between a host and the edge fails, wholly, in one direction, or now and then, while jobs run. */
import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Gate } from "../../test/support/gate.ts";
import { createEndpoint } from "../../test/support/management-client.ts";
import type { QueueClient } from "../../test/support/queue-client.ts";
import type { HostLink } from "../../test/support/rig/host-link.ts";
import { until } from "../../test/support/until.ts";
import { Executions } from "./executions.ts";
import { FleetWatch } from "./fleet-watch.ts";
import type { Scene } from "./host-faults.ts";
import { type EndedJob, Load } from "./partition-load.ts";
import { type PartitionFigures, type PartitionHistory, partitionFigures } from "./partition-figures.ts";

const WORKER = resolve(import.meta.dirname, "../../test/support/worker-script.mjs");
const CLIENTS = 4;
const SHORT_JOB_S = 0.2;
/** Long enough for a host to be lost, and for less than its calls may take. */
const CUT_MS = 30_000;
/** Longer than an agent waits for the answer of any call. */
const LONG_CUT_MS = 80_000;
const BASELINE_MS = 6_000;
/** After it has healed, the load goes on for so long. */
const AFTERWARDS_MS = 30_000;
const START_LIMIT_MS = 120_000;
/** A cable whose plug is loose. */
const SHORT_FLAP_MS = 2_000;
const LONG_FLAP_MS = 12_000;
const SLOW = { delayMs: 150, lossPercent: 10 };

const NOTHING_LOST = { toHost: 0, toEdge: 0 };

type Disturbance = (link: HostLink) => Promise<void>;

/** What happens to the cable of the first host; each leaves it as it was. */
export const partitionFaults: Readonly<Record<string, Disturbance>> = {
  "cut off for 30 s": (link) => losing(link, { toHost: 100, toEdge: 100 }, CUT_MS),
  "cut off for 80 s": (link) => losing(link, { toHost: 100, toEdge: 100 }, LONG_CUT_MS),
  "nothing reaches the host for 30 s": (link) => losing(link, { toHost: 100, toEdge: 0 }, CUT_MS),
  "nothing reaches the edge for 30 s": (link) => losing(link, { toHost: 0, toEdge: 100 }, CUT_MS),
  "150 ms each way, every tenth packet lost, for 30 s": async (link) => {
    link.delayMs = SLOW.delayMs;
    await losing(link, { toHost: SLOW.lossPercent, toEdge: SLOW.lossPercent }, CUT_MS);
    link.delayMs = 0;
  },
  "2 s off and 2 s on, eight times": (link) => flapping(link, SHORT_FLAP_MS, 8),
  "12 s off and 12 s on, three times": (link) => flapping(link, LONG_FLAP_MS, 3),
};

async function losing(link: HostLink, loss: Parameters<HostLink["lose"]>[0], forMs: number): Promise<void> {
  await link.lose(loss);
  await delay(forMs);
  await link.lose(NOTHING_LOST);
}

async function flapping(link: HostLink, eachMs: number, times: number): Promise<void> {
  for (let time = 1; time <= times; time += 1) {
    await link.unplug();
    await delay(eachMs);
    await link.plugIn();
    if (time < times) await delay(eachMs);
  }
}

/** Each host has a worker with short jobs and one with a long job when it begins. */
export async function observePartition(scene: Scene, disturb: Disturbance): Promise<PartitionFigures> {
  const { rig, hosts } = scene;
  const [first] = hosts;
  const record = join(rig.directory, `executions-${randomUUID()}`);
  const names = new Map(hosts.map(({ stateDirectory, name }) => [stateDirectory, name]));
  const executions = new Executions(record, names);
  const short = await openEndpoint(scene, record);
  const load = new Load(short, (token) => ({ mock_delay: SHORT_JOB_S, mock_return: token }));
  load.start(CLIENTS);
  await untilBoth(scene, executions, () => true, "short jobs run on both hosts");
  const long = await LongJobs.submit(scene, await openEndpoint(scene, record), executions);
  const baselineFrom = Date.now();
  await delay(BASELINE_MS);
  const watch = new FleetWatch(rig, hosts, () => executions.look());
  const log = first.log.length;
  const brokenAt = Date.now();
  const freed = long.freeWhenRunAgain();
  freed.catch(() => {}); // heard of below
  await disturb(first.link);
  const healedAt = Date.now();
  long.openAll();
  await delay(AFTERWARDS_MS);
  await load.stop();
  const ended = [...load.ended, ...(await long.results())];
  await freed;
  await watch.stop();
  const history: PartitionHistory = {
    host: first.name,
    moments: { baselineFrom, brokenAt, healedAt },
    executions: executions.all,
    ended,
    again: await readAgain(short, long.client, ended),
    counted: await Promise.all([short.health(), long.client.health()]),
    load,
    watch,
    agentLog: first.log.slice(log),
  };
  return partitionFigures(history);
}

async function openEndpoint({ rig }: Scene, record: string): Promise<QueueClient> {
  const id = await createEndpoint(rig, {
    name: `partition-${randomUUID()}`,
    dockerArgs: `node ${WORKER}`,
    env: { MOCK_RECORD: record },
    workersMax: 2,
    idleTimeout: 5,
    scalerType: "REQUEST_COUNT",
    scalerValue: 1,
  });
  return rig.clientOf(id);
}

async function untilBoth(
  { hosts }: Scene,
  executions: Executions,
  isMeant: (jobId: string) => boolean,
  what: string,
): Promise<void> {
  const isOn = (name: string) => executions.all.some(({ host, jobId }) => host === name && isMeant(jobId));
  await until(() => hosts.every(({ name }) => isOn(name)), what, START_LIMIT_MS);
}

type LongJob = { readonly id: string; readonly token: string; readonly gate: Gate };

/** A job on each host that ends when it is told to. */
class LongJobs {
  readonly client: QueueClient;
  readonly #jobs: readonly LongJob[];
  readonly #results: Promise<readonly EndedJob[]>;
  /** Has the job of the first host, which is the one that is cut off. */
  readonly #threatened: LongJob;

  private constructor(client: QueueClient, jobs: readonly LongJob[], threatened: LongJob) {
    this.client = client;
    this.#jobs = jobs;
    this.#threatened = threatened;
    this.#results = Promise.all(
      jobs.map(async ({ id, token }) => ({ id, token, result: await client.result(id), at: Date.now() })),
    );
    this.#results.catch(() => {}); // who asks for them hears of it
  }

  static async submit(scene: Scene, client: QueueClient, executions: Executions): Promise<LongJobs> {
    const jobs = await Promise.all(
      ["long 1", "long 2"].map(async (token) => {
        const gate = new Gate(scene.rig.directory);
        const { id } = await client.run({ mock_until: gate.file, mock_return: token });
        return { id, token, gate };
      }),
    );
    const isLong = (jobId: string) => jobs.some(({ id }) => id === jobId);
    await untilBoth(scene, executions, isLong, "a long job runs on each host");
    const [{ name }] = scene.hosts;
    const threatened = jobs.find(({ id }) => executions.of(id)[0]?.host === name);
    if (!threatened) throw new Error(`no long job runs on ${name}`);
    return new LongJobs(client, jobs, threatened);
  }

  /** Lets the job of the other host end as soon as that of the first one waits for its place. */
  async freeWhenRunAgain(): Promise<void> {
    const { id } = this.#threatened;
    for (;;) {
      const { status, retries = 0 } = await this.client.status(id);
      if (retries > 0) break;
      if (status !== "IN_QUEUE" && status !== "IN_PROGRESS") return;
      await delay(100);
    }
    for (const job of this.#jobs) if (job !== this.#threatened) job.gate.open();
  }

  openAll(): void {
    for (const { gate } of this.#jobs) gate.open();
  }

  results(): Promise<readonly EndedJob[]> {
    return this.#results;
  }
}

/** The jobs as they are shown once all is over: what has ended stays as it is. */
async function readAgain(short: QueueClient, long: QueueClient, ended: readonly EndedJob[]) {
  const shown = ended.map(({ id, token }) => (token.startsWith("long") ? long : short).status(id));
  return Promise.all(shown);
}
