/** What `--auto-provision` asks and says. */
import type { Cli } from "../../core/cli.ts";
import { counted } from "../../core/format.ts";
import type { LiveEndpoint } from "../app/live-app.ts";
import type { LiveSession, Provisioned } from "./live-session.ts";

/** More than these are not made without being asked for. */
const UNASKED_MAX = 5;

/** Whether so many endpoints are to be made at once; throws a Failure where nobody can be asked. */
export async function confirmProvisioning(
  cli: Cli,
  session: Pick<LiveSession, "lacking">,
  endpoints: readonly LiveEndpoint[],
): Promise<boolean> {
  const { length } = session.lacking(endpoints);
  if (length <= UNASKED_MAX) return true;
  return await cli.terminal.confirm(`Make ${counted(length, "live endpoint")} now?`);
}

/** Makes all of them before the eyes of the person; one that fails is made at its first call. */
export async function provision(
  cli: Cli,
  session: LiveSession,
  endpoints: readonly LiveEndpoint[],
): Promise<readonly Provisioned[]> {
  const step = cli.terminal.step("Making live endpoints");
  let done = 0;
  const show = ({ name, outcome, error }: Provisioned): void => {
    done += 1;
    step.update(`${done} of ${endpoints.length}`);
    if (outcome === "failed") cli.terminal.fail(error ?? name);
    else cli.terminal.done(`${name} ${outcome}`);
  };
  const provisioned = await session.placeAll(endpoints, show).catch((error: unknown) => {
    step.fail("Making live endpoints failed");
    throw error;
  });
  const summary = summaryOf(provisioned);
  if (provisioned.some(({ outcome }) => outcome === "failed")) {
    step.fail(`Live endpoints: ${summary}. What failed is tried again at its first call.`);
  } else step.done(`Live endpoints: ${summary}`);
  return provisioned;
}

function summaryOf(provisioned: readonly Provisioned[]): string {
  const outcomes = ["deployed", "updated", "cached", "failed"] as const;
  return outcomes
    .map((outcome) => [provisioned.filter((one) => one.outcome === outcome).length, outcome] as const)
    .filter(([count]) => count > 0)
    .map(([count, outcome]) => `${count} ${outcome}`)
    .join(", ");
}
