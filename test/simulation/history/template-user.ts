/** Who makes templates, changes them with two calls at once, reads them over each public API, and deletes them. */
import type { World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import type { HistoryPlan } from "./plan.ts";
import { mayRepeatCalls } from "./planned-faults.ts";
import {
  CREATING_SURFACES,
  diskOf,
  imageOf,
  README,
  TEMPLATE_SURFACES,
  type ShownTemplate,
  type TemplateCall,
  type TemplatePatch,
  type TemplateSurface,
} from "./template-surfaces.ts";

export type TemplateUserParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly client: SimulatedClient;
  readonly violate: (what: string) => void;
};

/** The numbers that a template may show: of its image, and of its disk and variable, which change together. */
type Possible = { readonly image: readonly number[]; readonly sizes: readonly number[] };

const TEMPLATES = 2;
const CHANGES = 3;
const PAUSE_MS = 1_500;
const CALLS_MAX = 40;
const AGAIN_MS = 500;

export class TemplateUser {
  readonly #parts: TemplateUserParts;
  readonly #mayHaveCopies: boolean;
  #names = 0;
  #isOver = false;

  constructor(parts: TemplateUserParts) {
    this.#parts = parts;
    this.#mayHaveCopies = mayRepeatCalls(parts.plan.faults);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  start(): void {
    const { client, world } = this.#parts;
    client.run(world, async () => {
      for (let left = TEMPLATES; left > 0; left -= 1) {
        await pause(world.random.delay(PAUSE_MS));
        await this.#useOne();
      }
      this.#isOver = true;
    });
  }

  async #useOne(): Promise<void> {
    const template = await this.#create();
    if (!template) return;
    for (let number = 1; number <= CHANGES; number += 1) {
      await pause(this.#parts.world.random.delay(PAUSE_MS));
      const before = this.#upTo(number - 1);
      const during = { image: [...before.image, number], sizes: [...before.sizes, number] };
      const areAnswered = await Promise.all([
        this.#change(template, { image: number }, during),
        this.#change(template, { sizes: number }, during),
      ]);
      if (areAnswered.includes(false)) return;
      for (const surface of TEMPLATE_SURFACES) await this.#expect(surface, template, this.#upTo(number));
    }
    await this.#remove(template);
  }

  /** What a template may show after that change was answered: an earlier one too, where a copy of it may follow. */
  #upTo(number: number): Possible {
    const numbers = this.#mayHaveCopies ? Array.from({ length: number + 1 }, (_, one) => one) : [number];
    return { image: numbers, sizes: numbers };
  }

  /** Each call has a name of its own: one that was not answered may have made a template. */
  async #create(): Promise<ShownTemplate | undefined> {
    const surface = this.#parts.world.random.pick(CREATING_SURFACES);
    for (let calls = CALLS_MAX; calls > 0; calls -= 1) {
      const name = `template ${(this.#names += 1)}`;
      const created = await this.#send(surface, surface.create(name));
      if (created) return this.#compare(surface, { ...created, name }, created, this.#upTo(0));
      await pause(AGAIN_MS);
    }
    return undefined;
  }

  /** Repeating it is safe. One that was not answered is made as a whole or not at all. Returns whether it was. */
  async #change(template: ShownTemplate, patch: TemplatePatch, possible: Possible): Promise<boolean> {
    const surface = this.#parts.world.random.pick(TEMPLATE_SURFACES);
    for (let calls = CALLS_MAX; calls > 0; calls -= 1) {
      const changed = await this.#send(surface, surface.change(template.id, patch));
      if (changed === null) this.#parts.violate(`the template ${template.id} is gone for ${surface.name}`);
      if (changed) {
        this.#compare(surface, template, changed, { ...possible, ...numbersOf(patch) });
        return true;
      }
      await this.#expect(surface, template, possible);
      await pause(AGAIN_MS);
    }
    return false;
  }

  async #expect(surface: TemplateSurface, template: ShownTemplate, possible: Possible): Promise<void> {
    const shown = await this.#send(surface, surface.read(template.id));
    if (shown === null) this.#parts.violate(`${surface.name} does not show the template ${template.id}`);
    if (shown) this.#compare(surface, template, shown, possible);
  }

  #compare(
    { name: surface }: TemplateSurface,
    { name }: ShownTemplate,
    shown: ShownTemplate,
    { image, sizes }: Possible,
  ): ShownTemplate {
    const isRight =
      shown.name === name &&
      (shown.readme ?? README) === README &&
      image.some((number) => shown.image === imageOf(number)) &&
      sizes.some((number) => shown.disk === diskOf(number) && shown.variable === String(number));
    if (!isRight) {
      const expected = `${name} with image ${image.join(" or ")} and sizes ${sizes.join(" or ")}`;
      this.#parts.violate(`${surface} shows ${JSON.stringify(shown)} of the template ${expected}`);
    }
    return shown;
  }

  /** Until it is answered; then no API shows it any more. */
  async #remove(template: ShownTemplate): Promise<void> {
    const { client, world, violate } = this.#parts;
    const { remove } = world.random.pick(TEMPLATE_SURFACES);
    for (let calls = CALLS_MAX; calls > 0; calls -= 1) {
      if (await isRemoved(client, remove(template))) break;
      if (calls === 1) return;
      await pause(AGAIN_MS);
    }
    for (const surface of TEMPLATE_SURFACES)
      if (await this.#send(surface, surface.read(template.id)))
        violate(`${surface.name} shows the deleted template ${template.id}`);
  }

  /** Undefined when it is not known what became of it. */
  async #send(
    surface: TemplateSurface,
    { method, path, body }: TemplateCall,
  ): Promise<ShownTemplate | null | undefined> {
    const { client, plan, violate } = this.#parts;
    const answer = await client.call(method, path, body);
    const shown = answer && surface.shown(answer);
    if (answer && shown === undefined && plan.faults.size === 0)
      violate(`${method} ${path} of a template is answered ${answer.status} ${JSON.stringify(answer.body)}`);
    return shown;
  }
}

/** An empty answer, or one of GraphQL without errors; not found where an earlier call has done it. */
async function isRemoved(client: SimulatedClient, { method, path, body }: TemplateCall): Promise<boolean> {
  const headers = { "content-type": "application/json" };
  try {
    const init = { method, headers, body: body === undefined ? null : JSON.stringify(body) };
    const response = await client.open(path, init);
    if (response.status !== 200) return response.status === 204 || response.status === 404;
    const text = await response.text();
    return !text.includes('"errors"') || text.includes("TEMPLATE_NOT_FOUND");
  } catch {
    return false;
  }
}

function numbersOf({ image, sizes }: TemplatePatch): Partial<Possible> {
  return {
    ...(image === undefined ? {} : { image: [image] }),
    ...(sizes === undefined ? {} : { sizes: [sizes] }),
  };
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
