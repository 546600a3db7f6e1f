/** The scripted agent, in a process of its own. */
import { answerCommands, readSettings } from "../process/commands.ts";
import { joinFleet, type HostSettings } from "./agent-host.ts";
import { AgentLoop } from "./agent-loop.ts";

export type AgentSettings = HostSettings & {
  /** The endpoint may get further objects, of which the agent wants no jobs. */
  readonly knowsShards?: boolean;
};

const settings = readSettings<AgentSettings>();
const host = await joinFleet(settings);
const loop = new AgentLoop(host, settings);
await loop.answered;

const commands = {
  pause: (_: null): Promise<void> => loop.pause(),
  resume: (_: null): void => loop.resume(),
  drain: (jobs: number) => loop.drain(jobs),
  claim: (jobs: number) => loop.claim(jobs),
};
export type AgentCommands = typeof commands;

answerCommands(commands);
