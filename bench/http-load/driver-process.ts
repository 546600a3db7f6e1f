/** The driver of plain HTTP, in a process of its own: the same for all targets. */
import { answerCommands } from "../process/commands.ts";
import { eventDelays } from "./events.ts";
import { besideDownloads, small } from "./small.ts";
import { idleWebSocket, steady } from "./steady.ts";
import { endSlowDownloads, startSlowDownloads } from "./slow-downloads.ts";
import { transfer } from "./transfer.ts";

const commands = {
  small,
  besideDownloads,
  transfer,
  eventDelays,
  startSlowDownloads,
  endSlowDownloads,
  steady,
  idleWebSocket,
};
export type HttpDriverCommands = typeof commands;

answerCommands(commands);
