/** What an operator does meanwhile: other limits, a new image that may not start, a pause. */
import { SECRET_ENV } from "./secrets.ts";
import { BROKEN_IMAGE } from "../host/worker.ts";
import type { World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import type { HistoryPlan } from "./plan.ts";

const PAUSE_MS = 5_000;
/** Share of the new images that do not start. */
const BROKEN = 0.3;

export class Operator {
  readonly #world: World;
  readonly #client: SimulatedClient;
  readonly #endpointIds: readonly string[];
  readonly #plan: HistoryPlan;
  #imageNumber = 1;
  #isClosed = false;

  constructor(world: World, client: SimulatedClient, endpointIds: readonly string[], plan: HistoryPlan) {
    this.#world = world;
    this.#client = client;
    this.#endpointIds = endpointIds;
    this.#plan = plan;
  }

  /** Nothing is changed any more. */
  close(): void {
    this.#isClosed = true;
  }

  async act(): Promise<void> {
    if (this.#isClosed) return;
    const { random } = this.#world;
    const endpointId = random.pick(this.#endpointIds);
    await random.pick([
      () => this.#scale(endpointId, random.whole(1, 4)),
      () => this.#deploy([endpointId]),
      () => this.#deploy(this.#endpointIds),
      () => this.#pause(endpointId),
    ])();
  }

  async #scale(endpointId: string, workersMax: number): Promise<void> {
    const workersMin = this.#endpointIds.length === 1 && this.#world.random.chance(0.2) ? 1 : 0;
    await save(this.#client, endpointId, `workersMax: ${workersMax}, workersMin: ${workersMin}`);
  }

  async #deploy(endpointIds: readonly string[]): Promise<void> {
    this.#imageNumber += 1;
    const name = this.#world.random.chance(BROKEN) ? BROKEN_IMAGE : "i";
    const template = `template: ${templateOf(`${name}${this.#imageNumber}`, this.#plan)}`;
    for (const endpointId of endpointIds) if (!this.#isClosed) await save(this.#client, endpointId, template);
  }

  /** No workers for a while. */
  async #pause(endpointId: string): Promise<void> {
    await save(this.#client, endpointId, "workersMax: 0, workersMin: 0");
    await new Promise((resolve) => setTimeout(resolve, this.#world.random.delay(PAUSE_MS)));
    await resume(this.#client, endpointId, this.#plan);
  }
}

/** Ends a pause. */
async function resume(
  client: SimulatedClient,
  endpointId: string,
  { workersMax }: HistoryPlan,
): Promise<void> {
  await save(client, endpointId, `workersMax: ${workersMax}`);
}

/** The endpoint has workers again, of an image that starts. */
export async function repair(client: SimulatedClient, endpointId: string, plan: HistoryPlan): Promise<void> {
  await resume(client, endpointId, plan);
  if (plan.isManaged) await save(client, endpointId, `template: ${templateOf("i", plan)}`);
}

function templateOf(imageName: string, { containerDiskGb, hasSecrets }: HistoryPlan): string {
  const env = hasSecrets ? SECRET_ENV : "";
  return `{ name: "t", imageName: "${imageName}", containerDiskInGb: ${containerDiskGb}, dockerArgs: "" ${env} }`;
}

async function save(client: SimulatedClient, endpointId: string, fields: string): Promise<void> {
  const input = `{ id: "${endpointId}", name: "e", ${fields} }`;
  await client.manage(`mutation { saveEndpoint(input: ${input}) { id } }`);
}
