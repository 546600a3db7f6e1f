/** `flash dev --auto-provision`. */
import type { Cli } from "../../core/cli.ts";
import { counted } from "../../core/format.ts";
import { inStep } from "../../core/terminal.ts";
import type { LiveEndpoint } from "../app/live-app.ts";
import type { LiveSession, Provisioned } from "./live-session.ts";

/** The command asks for confirmation before it creates more endpoints than this. */
const UNASKED_MAX = 5;

/** Asks before many endpoints are created; throws a Failure without a terminal. */
export async function confirmProvisioning(
  cli: Cli,
  session: Pick<LiveSession, "lacking">,
  endpoints: readonly LiveEndpoint[],
): Promise<boolean> {
  const { length } = session.lacking(endpoints);
  if (length <= UNASKED_MAX) return true;
  return await cli.terminal.confirm(`Create ${counted(length, "live endpoint")} now?`);
}

/** Creates all endpoints and shows the progress; one that fails is created at its first call. */
export async function provision(
  cli: Cli,
  session: LiveSession,
  endpoints: readonly LiveEndpoint[],
): Promise<readonly Provisioned[]> {
  const lines = { title: "Creating live endpoints", failed: "Creating live endpoints failed" };
  return await inStep(cli.terminal, lines, async (step) => {
    let done = 0;
    const provisioned = await session.placeAll(endpoints, ({ name, outcome, error }) => {
      done += 1;
      step.update(`${done} of ${endpoints.length}`);
      if (outcome === "failed") cli.terminal.fail(error ?? name);
      else cli.terminal.done(`${name} ${outcome}`);
    });
    const summary = summaryOf(provisioned);
    if (provisioned.some(({ outcome }) => outcome === "failed")) {
      step.fail(`Live endpoints: ${summary}. Failed ones are retried at their first call.`);
    } else step.done(`Live endpoints: ${summary}`);
    return provisioned;
  });
}

function summaryOf(provisioned: readonly Provisioned[]): string {
  const outcomes = ["deployed", "updated", "cached", "failed"] as const;
  return outcomes
    .map((outcome) => [provisioned.filter((one) => one.outcome === outcome).length, outcome] as const)
    .filter(([count]) => count > 0)
    .map(([count, outcome]) => `${count} ${outcome}`)
    .join(", ");
}
