/** Deleting what was deployed. */
import type { Cli } from "../core/cli.ts";
import { Failure } from "../../src/std/failure.ts";
import { removeEndpoint } from "../service/endpoint-operations.ts";
import { deleteEnvironment, environmentDetails } from "../service/flash-operations.ts";
import type { Service } from "../service/service.ts";
import { counted } from "../core/format.ts";

type Named = { readonly id: string; readonly name: string };

/**
 * Deletes endpoints one by one, going on after failures. Throws a Failure that names those that could not be
 * deleted.
 */
export async function removeEndpoints(
  cli: Cli,
  service: Service,
  endpoints: readonly Named[],
): Promise<void> {
  const survivors: Named[] = [];
  for (const endpoint of endpoints) {
    cli.signal.throwIfAborted();
    const step = cli.terminal.step(`Deleting ${endpoint.name}`);
    try {
      const outcome = await removeEndpoint(service, endpoint.id);
      if (outcome === "deleted") step.done(`Deleted ${endpoint.name} (${endpoint.id}).`);
      else step.done(`${endpoint.name} (${endpoint.id}) did not exist any more.`);
    } catch (error) {
      cli.signal.throwIfAborted();
      if (!(error instanceof Failure)) throw error;
      step.fail(`${endpoint.name} (${endpoint.id}): ${error.message}`);
      survivors.push(endpoint);
    }
  }
  if (survivors.length === 0) return;
  const names = survivors.map(({ name, id }) => `${name} (${id})`).join(", ");
  throw new Failure(`${counted(survivors.length, "endpoint")} could not be deleted: ${names}.`, [
    "Their environments were not deleted. Run the command again.",
  ]);
}

/** Deletes environments with their endpoints; none while an endpoint of any of them is left. */
export async function removeEnvironments(
  cli: Cli,
  service: Service,
  environments: readonly Named[],
): Promise<void> {
  const details = await Promise.all(
    environments.map(async ({ id }) => (await service.query(environmentDetails, { id })).flashEnvironment),
  );
  await removeEndpoints(
    cli,
    service,
    details.flatMap((environment) => environment?.endpoints ?? []),
  );
  for (const { id, name } of environments) {
    cli.signal.throwIfAborted();
    await service.mutate(deleteEnvironment, { id });
    cli.terminal.done(`Deleted environment ${name}.`);
  }
}
