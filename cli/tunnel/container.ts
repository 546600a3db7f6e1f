/** The container that a command is for, and how it is reached. */
import { EXIT_USAGE, Failure } from "../../src/std/failure.ts";
import { findAccess } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import type { Service } from "../service/service.ts";

/** Ends the names of hosts that ssh connects to; see `ssh-config`. */
export const HOST_SUFFIX = ".edgerun";
const ID_FORM = /^[A-Za-z0-9_-]{1,64}$/;
const SAY_LOST_AFTER_MS = 2_000;

/** A pod, or a worker of an endpoint. */
export type Container = {
  readonly service: Pick<Service, "url" | "apiKey">;
  readonly containerId: string;
  /** Tells the user of a connection that stays lost. */
  readonly onConnection: (isThere: boolean) => void;
};

/** Throws a Failure for what cannot be an id, and when there is no key. The container need not exist. */
export async function openContainer(cli: Cli, named: string): Promise<Container> {
  const containerId = containerIdOf(named);
  const { url, apiKey } = await findAccess(cli);
  return { service: { url, apiKey }, containerId, onConnection: connectionNotice(cli) };
}

/** Takes the name of a host for ssh too. Throws a Failure for what cannot be an id. */
export function containerIdOf(named: string): string {
  const id = named.endsWith(HOST_SUFFIX) ? named.slice(0, -HOST_SUFFIX.length) : named;
  if (ID_FORM.test(id)) return id;
  throw new Failure(`${JSON.stringify(named)} is no id of a pod or worker.`, [], EXIT_USAGE);
}

/** Says nothing of a connection that is there again at once. */
function connectionNotice({ terminal }: Cli): (isThere: boolean) => void {
  let timer: NodeJS.Timeout | undefined;
  let isSaid = false;
  // The cursor returns to the start of a line even where the terminal is in raw mode.
  const say = (line: string): void => terminal.warn(`${line}\r`);
  return (isThere) => {
    clearTimeout(timer);
    if (isThere && isSaid) say("Connected again.");
    isSaid = false;
    if (isThere) return;
    timer = setTimeout(() => {
      isSaid = true;
      say("Connection lost, resuming …");
    }, SAY_LOST_AFTER_MS);
    timer.unref();
  };
}
