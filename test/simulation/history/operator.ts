/** What an operator does meanwhile: other limits, a new image, a pause. */
import type { World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import type { HistoryPlan } from "./plan.ts";

const PAUSE_MS = 5_000;

export class Operator {
  readonly #world: World;
  readonly #client: SimulatedClient;
  readonly #endpointId: string;
  readonly #plan: HistoryPlan;
  #imageNumber = 1;

  constructor(world: World, client: SimulatedClient, endpointId: string, plan: HistoryPlan) {
    this.#world = world;
    this.#client = client;
    this.#endpointId = endpointId;
    this.#plan = plan;
  }

  async act(): Promise<void> {
    const { random } = this.#world;
    await random.pick([() => this.#scale(random.whole(1, 4)), () => this.#deploy(), () => this.#pause()])();
  }

  async #scale(workersMax: number): Promise<void> {
    const workersMin = this.#world.random.chance(0.2) ? 1 : 0;
    await this.#save(`workersMax: ${workersMax}, workersMin: ${workersMin}`);
  }

  async #deploy(): Promise<void> {
    this.#imageNumber += 1;
    const template = `{ name: "t", imageName: "i${this.#imageNumber}", containerDiskInGb: 5, dockerArgs: "" }`;
    await this.#save(`template: ${template}`);
  }

  /** No workers for a while. */
  async #pause(): Promise<void> {
    await this.#save("workersMax: 0, workersMin: 0");
    await new Promise((resolve) => setTimeout(resolve, this.#world.random.delay(PAUSE_MS)));
    await this.#save(`workersMax: ${this.#plan.workersMax}`);
  }

  async #save(fields: string): Promise<void> {
    const input = `{ id: "${this.#endpointId}", name: "e", ${fields} }`;
    await this.#client.manage(`mutation { saveEndpoint(input: ${input}) { id } }`);
  }
}
