/**
 * Shells and copies through tunnels: `node bench/tunnels/tunnels.ts [key presses] [copies] [bytes of a copy]`.
 *
 * In turns, with the same container on the same machine: `edgerun` through the edge and its agent, and the command of
 * Docker beside it. Keys are pressed in a terminal of their own each (`script`), in front of `cat`, whose terminal
 * echoes them.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import Dockerode from "dockerode";
import getPort from "get-port";
import { ensureTestImage, TEST_IMAGE } from "../../test/support/docker.ts";
import { Launch } from "../../test/support/launch.ts";
import { until } from "../../test/support/until.ts";
import { latencyOf, median } from "../load/percentiles.ts";

const [PRESSES = 500, COPIES = 3, BYTES = 1_000_000_000] = process.argv.slice(2).map(Number);
const ROUNDS = 3;
const START_LIMIT_MS = 60_000;
const COMMAND = resolve(import.meta.dirname, "../../cli/main.ts");
const FILE = "/workspace/file";
/** Says when it is there: until then the terminal here echoes. */
const CAT = "sh -c 'echo there; cat'";
const run = promisify(execFile);

type Pod = { readonly id: string; readonly containerId: string; readonly env: NodeJS.ProcessEnv };
type Way = { readonly name: string; readonly shell: string; readonly up: string; readonly down: string };

const stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-bench-"));
const local = join(stateDirectory, "local");
const port = await getPort({ host: "127.0.0.1" });
const options = ["--no-example", "--runtime", "docker"];
const launch = new Launch({ via: "script", port, stateDirectory, options });
try {
  await launch.settled();
  await ensureTestImage();
  const pod = await startPod(launch.record.url);
  const ways: readonly Way[] = [
    {
      name: "edgerun",
      shell: `${edgerun("exec")} -t ${pod.id} -- ${CAT}`,
      up: `${edgerun("cp")} ${local} ${pod.id}:${FILE}`,
      down: `${edgerun("cp")} ${pod.id}:${FILE} ${local}.back`,
    },
    {
      name: "docker",
      shell: `docker exec -it ${pod.containerId} ${CAT}`,
      up: `docker cp ${local} ${pod.containerId}:${FILE}`,
      down: `docker cp ${pod.containerId}:${FILE} ${local}.back`,
    },
  ];
  await measureKeys(pod, ways);
  await measureCopies(pod, ways);
} finally {
  await launch.stop();
  await rm(stateDirectory, { recursive: true, force: true });
}

function edgerun(noun: string): string {
  return `${process.execPath} ${COMMAND} ${noun}`;
}

async function startPod(url: string): Promise<Pod> {
  const apiKey = (await readFile(join(stateDirectory, "api-key"), "utf8")).trim();
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const body = JSON.stringify({
    name: "tunnels",
    imageName: TEST_IMAGE,
    dockerStartCmd: ["sh", "-c", "busybox --install -s /bin; exec sleep 100000"],
    computeType: "CPU",
    containerDiskInGb: 5,
    volumeInGb: 5,
    volumeMountPath: "/workspace",
    ports: [],
  });
  const create = async (): Promise<string | undefined> => {
    const made = await fetch(`${url}/v1/pods`, { method: "POST", headers, body });
    const { id, error } = (await made.json()) as { id?: string; error?: string };
    if (id === undefined && made.status !== 503) throw new Error(error);
    return id;
  };
  const id = await until(create, "a host has a place", START_LIMIT_MS);
  const isUp = async () => {
    const pods = await fetch(`${url}/v1/pods/${id}`, { headers });
    return ((await pods.json()) as { runtime?: object | null }).runtime;
  };
  await until(isUp, "the pod runs", START_LIMIT_MS);
  const containers = await new Dockerode().listContainers();
  const containerId = containers.find(({ Names }) => Names.some((name) => name.includes(id)))?.Id ?? "";
  const env = { ...process.env, EDGERUN_URL: url, SVC_API_KEY: apiKey, HOME: stateDirectory };
  return { id, containerId, env };
}

/** Each round presses its keys one after another: the next one when the echo of the last is there. */
async function measureKeys({ env }: Pod, ways: readonly Way[]): Promise<void> {
  const ms = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { name, shell } of ways) {
      const terminal = spawn("script", ["-qfc", shell, "/dev/null"], {
        env,
        stdio: ["pipe", "pipe", "inherit"],
      });
      await heard(terminal, "there");
      const pressed: number[] = [];
      for (let key = 0; key < PRESSES; key += 1) {
        const startedAt = performance.now();
        await press(terminal, String(key % 10));
        pressed.push(performance.now() - startedAt);
      }
      terminal.kill("SIGKILL");
      ms.set(name, [...(ms.get(name) ?? []), ...pressed]);
    }
  }
  for (const [name, values] of ms) {
    const { p50, p99 } = latencyOf(values);
    console.log(`key press, ${name}: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms (${values.length})`);
  }
}

async function press(terminal: ChildProcess, key: string): Promise<void> {
  const echoed = heard(terminal, key);
  terminal.stdin?.write(key);
  await echoed;
}

async function heard({ stdout }: ChildProcess, text: string): Promise<void> {
  const { promise, resolve: found } = Promise.withResolvers<void>();
  const look = (bytes: Buffer): void => {
    if (bytes.includes(text)) found();
  };
  stdout?.on("data", look);
  await promise;
  stdout?.off("data", look);
}

async function measureCopies({ env, containerId }: Pod, ways: readonly Way[]): Promise<void> {
  await pipeline(Readable.from(randomParts(BYTES)), createWriteStream(local));
  const digest = await digestOf(local);
  const rates = new Map<string, number[]>();
  for (let copy = 0; copy < COPIES; copy += 1) {
    for (const { name, up, down } of ways) {
      for (const [direction, command] of [
        ["up", up],
        ["down", down],
      ] as const) {
        await rm(`${local}.back`, { force: true });
        const startedAt = performance.now();
        await run("sh", ["-c", command], { env });
        const rate = BYTES / 1e3 / (performance.now() - startedAt);
        rates.set(`${direction}, ${name}`, [...(rates.get(`${direction}, ${name}`) ?? []), rate]);
      }
      if ((await digestOf(`${local}.back`)) !== digest) throw new Error(`${name} copied something else`);
      await run("docker", ["exec", containerId, "rm", FILE]);
    }
  }
  for (const [name, values] of rates)
    console.log(
      `copy ${name}: ${median(values).toFixed(0)} MB/s (${values.map((one) => one.toFixed(0)).join(", ")})`,
    );
}

function* randomParts(bytes: number): Generator<Buffer> {
  const part = 1_000_000;
  for (let left = bytes; left > 0; left -= part) yield randomBytes(Math.min(part, left));
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
