/** What `flash dev` does, from its start to Ctrl+C. */
import { once } from "node:events";
import type { Cli } from "../cli.ts";
import { openService } from "../configuration/service-access.ts";
import { openLocalEdge } from "../local/local-edge.ts";
import { openCallLog } from "../server/terminal-call-log.ts";
import { startLocalServer } from "../server/local-server.ts";
import { showStartupTable } from "../server/startup-table.ts";
import { Service } from "../service/service.ts";
import { openLiveApp } from "./app/watched-app.ts";
import { LiveCalls } from "./call/live-calls.ts";
import { openLiveSession } from "./session/service-session.ts";
import { showChange } from "./changes.ts";
import { forgetAddress, tellAddress } from "./dev-address.ts";

export type DevOptions = {
  readonly appName: string;
  readonly host: string;
  /** The first one that is tried. */
  readonly port: number;
  /** Changes of files are followed. */
  readonly reloads: boolean;
  /** Every live endpoint is made at the start. */
  readonly provisionsAll: boolean;
  readonly python?: string | undefined;
  /** Workers run on this computer, whatever service is configured. */
  readonly local?: { readonly runtime: "docker" | "process" };
};

type Closing = { close(): Promise<unknown> };

/** Serves until it is interrupted; then nothing of it is left, here or on the service. */
export async function dev(cli: Cli, options: DevOptions): Promise<void> {
  const opened: Closing[] = [];
  const keep = <T extends Closing>(part: T): T => {
    opened.push(part);
    return part;
  };
  try {
    await serve(cli, options, keep);
  } finally {
    for (const part of opened.toReversed()) await part.close();
  }
}
