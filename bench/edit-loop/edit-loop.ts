/**
 * From a saved file to an answer of its code: `node bench/edit-loop/edit-loop.ts [edits] [deployments]`.
 *
 * In turns, on the same edge and agent: with `flash dev`, where the next call brings the code along, and with its
 * peer, `flash deploy` of the same change. Workers are plain processes; the first call of each way is not counted.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import getPort from "get-port";
import { CommandFixture } from "../../test/cli/support/flash-command.ts";
import { RunningCommand } from "../../test/cli/support/running-command.ts";
import { CountingProxy } from "../../test/support/counting-proxy.ts";
import { layOutCli } from "../../scripts/bundle/cli-bundle.ts";
import { Launch } from "../../test/support/launch.ts";

const [EDITS = 20, DEPLOYMENTS = 5] = process.argv.slice(2).map(Number);
const CALL_LIMIT_MS = 120_000;

const worker = (word: string) => `
from edgerun import Endpoint

@Endpoint(name="word", cpu="cpu3c-1-2")
def word():
    return "${word}"
`;

type Loop = { readonly ms: readonly number[]; readonly bytes: number };

const stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-bench-"));
const bundle = join(await mkdtemp(join(tmpdir(), "edgerun-bench-")), "cli");
await layOutCli(join(import.meta.dirname, "../.."), bundle);
const port = await getPort({ host: "127.0.0.1" });
const launch = new Launch({
  via: "script",
  port,
  stateDirectory,
  options: ["--no-example", "--runtime", "process"],
});
try {
  await launch.settled();
  const apiKey = (await readFile(join(stateDirectory, "api-key"), "utf8")).trim();
  await using proxy = await CountingProxy.open(launch.record.url);
  await using fixture = await CommandFixture.open(bundle, {
    EDGERUN_URL: proxy.url,
    SVC_API_KEY: apiKey,
    PYTHONPATH: join(import.meta.dirname, "../../sdk/python/src"),
  });
  const dev = await withDev(fixture, proxy);
  const deploy = await withDeploy(fixture, proxy, apiKey);
  show("flash dev", dev);
  show("flash deploy", deploy);
  console.log(
    `p50 of flash deploy ÷ flash dev: ${(quantile(deploy.ms, 0.5) / quantile(dev.ms, 0.5)).toFixed(1)}`,
  );
} finally {
  await launch.stop();
  await rm(stateDirectory, { recursive: true, force: true });
  await rm(join(bundle, ".."), { recursive: true, force: true });
}

async function withDev(fixture: CommandFixture, proxy: CountingProxy): Promise<Loop> {
  await fixture.write("worker.py", worker("first"));
  const args = ["dev", "--port", String(await getPort())];
  await using command = new RunningCommand(join(fixture.commands, "flash"), args, {
    cwd: fixture.project,
    env: fixture.environment,
  });
  const [, url = ""] = await command.printed(/(http:\/\/localhost:\d+)\/docs/);
  const call = () => outputOf(`${url}/word/runsync`, {});
  await call();
  const loop = await measure(fixture, proxy, EDITS, call);
  await command.end("SIGINT");
  return loop;
}

async function withDeploy(fixture: CommandFixture, proxy: CountingProxy, apiKey: string): Promise<Loop> {
  const deploy = async () => {
    const { stdout, stderr, exitCode } = await fixture.run("flash deploy --json");
    if (exitCode !== 0) throw new Error(stderr);
    return (JSON.parse(stdout) as { endpoints: { id: string }[] }).endpoints[0]?.id ?? "";
  };
  const call = async () =>
    await outputOf(`${proxy.url}/v2/${await deploy()}/runsync?wait=60000`, {
      Authorization: `Bearer ${apiKey}`,
    });
  await call();
  return await measure(fixture, proxy, DEPLOYMENTS, call);
}

/** The answer must be that of the code which was just saved: an older one is a fault, and no figure. */
async function measure(
  fixture: CommandFixture,
  proxy: CountingProxy,
  count: number,
  call: () => Promise<unknown>,
): Promise<Loop> {
  const ms: number[] = [];
  proxy.takeCount();
  for (let edit = 0; edit < count; edit += 1) {
    const word = `${count}-${edit}`;
    const startedAt = performance.now();
    await writeFile(join(fixture.project, "worker.py"), worker(word));
    const answer = await call();
    ms.push(performance.now() - startedAt);
    if (answer !== word) throw new Error(`After ${word} was saved the answer was ${String(answer)}.`);
  }
  return { ms, bytes: proxy.takeCount() / count };
}

async function outputOf(url: string, headers: Readonly<Record<string, string>>): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ input: {} }),
    signal: AbortSignal.timeout(CALL_LIMIT_MS),
  });
  return ((await response.json()) as { output?: unknown }).output;
}

function show(name: string, { ms, bytes }: Loop): void {
  const [p50, p99] = [quantile(ms, 0.5), quantile(ms, 0.99)].map(Math.round);
  console.log(
    `${name}: p50 ${p50} ms, p99 ${p99} ms (${ms.length} edits); ${Math.round(bytes)} bytes sent to the edge for each`,
  );
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
