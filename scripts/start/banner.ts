import { relative } from "node:path";
import type { ExampleEndpoint, ExampleOutcome } from "./example.ts";
import type { RuntimeKind } from "../../standalone/agent.ts";

export type BannerFacts = {
  readonly url: string;
  /** Signs one browser in, for a quarter of an hour. */
  readonly signInLink: string;
  readonly apiKey: string;
  readonly stateDirectory: string;
  readonly runtime: RuntimeKind | undefined;
  readonly example: ExampleEndpoint | undefined;
};

const RUNTIME_LABELS: Record<RuntimeKind, string> = {
  docker: "docker, each worker in its own container",
  process: "process, workers are plain processes with no isolation: run only code you trust",
};

const OPEN_NETWORK_WARNING =
  "  WARNING          containers can reach the services of this machine and its network: start as root on Linux to prevent that";

/** The agent beside a local edge is always told to simulate them: see standalone/agent.ts. */
const SIMULATED_GPUS =
  "  GPUs             simulated, four of each tier: workers see the names of cards, but there is no card";

function canGuardNetwork(): boolean {
  return process.platform === "linux" && process.getuid?.() === 0;
}

function outcomeLine(outcome: ExampleOutcome): string {
  if (outcome.kind === "not-completed") return `Example job failed. ${outcome.detail}`;
  return `Example job completed in ${outcome.tookMs} ms: ${JSON.stringify(outcome.output)}`;
}

export function printOutcome(outcome: ExampleOutcome, say: (line: string) => void): void {
  say(outcomeLine(outcome));
}

/** What a user needs next: URLs, key, and commands to copy. */
export function bannerLines(facts: BannerFacts): readonly string[] {
  const directory = relative(process.cwd(), facts.stateDirectory) || facts.stateDirectory;
  return [
    "",
    `  Console          ${facts.signInLink}`,
    "                   signs one browser in, within 15 minutes",
    `  Queue API        ${facts.url}/v2/<endpoint id>`,
    `  Load-balanced    ${facts.url}/lb/<endpoint id>/<path>`,
    `  OpenAI clients   ${facts.url}/v2/<endpoint id>/openai/v1`,
    `  Management API   ${facts.url}/graphql`,
    `  Try them out     ${facts.url}/docs`,
    `  API key          ${facts.apiKey}`,
    ...(facts.example ? [`  Endpoint         ${facts.example.id} (${facts.example.name})`] : []),
    ...(facts.runtime ? [`  Workers          ${RUNTIME_LABELS[facts.runtime]}`, SIMULATED_GPUS] : []),
    ...(facts.runtime === "docker" && !canGuardNetwork() ? [OPEN_NETWORK_WARNING] : []),
    `  Data and logs    ${directory.startsWith("..") ? facts.stateDirectory : directory}`,
    "",
    ...(facts.example ? commandLines(facts.url, facts.apiKey, facts.example.id) : []),
  ];
}

function commandLines(url: string, apiKey: string, endpointId: string): readonly string[] {
  const base = `${url}/v2/${endpointId}`;
  const authorization = `-H "Authorization: Bearer ${apiKey}"`;
  const body = `-H "Content-Type: application/json" -d '{"input":{"name":"you"}}'`;
  return [
    "Run a job and wait for its result:",
    `  curl -s -X POST ${base}/runsync ${authorization} ${body}`,
    "Queue a job; ask for it later with GET .../status/<job id>:",
    `  curl -s -X POST ${base}/run ${authorization} ${body}`,
    "See jobs and workers:",
    `  curl -s ${base}/health ${authorization}`,
    "",
  ];
}
