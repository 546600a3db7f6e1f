/** The agents of both transports, each alone in its process. */
import { answerCommands, readSettings } from "../../process/commands.ts";
import { startLinkingAgent } from "./linking-agent.ts";
import { startPollingAgent } from "./polling-agent.ts";

export type TransportAgentSettings = {
  readonly transport: "polled" | "linked";
  readonly edge: string;
  readonly workerPort: number;
};

const { transport, edge, workerPort } = readSettings<TransportAgentSettings>();
const start = transport === "polled" ? startPollingAgent : startLinkingAgent;
start(edge, workerPort);

const commands = {};
export type TransportAgentCommands = typeof commands;
answerCommands(commands);
