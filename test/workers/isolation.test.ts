/**
 * Random calls of several accounts, with ids and names of all of them mixed: nobody sees, changes or even
 * learns of what belongs to another.
 *
 *   MODEL_RUNS=1000 npx vitest run --project workers test/workers/isolation.test.ts
 *   MODEL_SEED=… MODEL_PATH=…   the same history again, as a failure names it
 */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { parse, validate } from "graphql";
import { beforeEach, test, vi } from "vitest";
import { managementSchema } from "../../src/graphql/schema.ts";
import { OPERATIONS, type Operation } from "./isolation-operations.ts";
import { neverWas, Tenant, wordFor, type Answer, type Thing } from "./isolation-world.ts";
import { fleetObject, passTime } from "./object.ts";
import { RUN_RETENTION_MS } from "../../src/domain/jobs/job-machine.ts";

const TENANTS = 3;
const CALLS_PER_LOOK = 10;
/** Beyond all windows in which calls are counted; a whole history is shorter than what has ended is kept. */
const BETWEEN_STEPS_MS = 12_000;
const TURNS_MAX = 6;
const STEPS_MAX = 20;
/** What another account's things, and things that never were, are answered with. */
const ERROR_STATUSES = [200, 400, 404];

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));

// Which operations there are

type Presence = "present" | "absent" | "misfit";

function presenceOf(operation: Operation): Presence {
  const call = operation.call(
    operation.takes.map(() => "x"),
    "x",
  );
  if (call.kind === "http") return "present";
  const issues = validate(managementSchema, parse(call.document));
  if (issues.length === 0) return "present";
  const [root = ""] = /\w+(?=\()/.exec(call.document) ?? [];
  const roots = {
    ...managementSchema.getMutationType()?.getFields(),
    ...managementSchema.getQueryType()?.getFields(),
  };
  return root in roots ? "misfit" : "absent";
}

async function presentOperations(): Promise<readonly Operation[]> {
  const tenant = await Tenant.open("probe");
  const { status } = await tenant.ask({ kind: "http", method: "GET", path: "/v1/endpoints" });
  return OPERATIONS.filter(
    (operation) =>
      presenceOf(operation) === "present" && (status !== 404 || !operation.name.includes(" /v1/")),
  );
}

// One turn of a history

/** One account calls some operations; then all look, which takes longer than the calls. */
type Turn = { readonly caller: number; readonly steps: readonly Step[] };

type Step = {
  readonly operation: number;
  /** Whose things are named, and which of them. */
  readonly owners: readonly number[];
  readonly picks: readonly number[];
};

const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  operation: fc.nat(9_999),
  owners: fc.tuple(fc.nat(TENANTS - 1), fc.nat(TENANTS - 1)),
  picks: fc.tuple(fc.nat(99), fc.nat(99)),
});

const turnArbitrary: fc.Arbitrary<Turn> = fc.record({
  caller: fc.nat(TENANTS - 1),
  steps: fc.array(stepArbitrary, { minLength: 10, maxLength: STEPS_MAX }),
});

class Scene {
  readonly #tenants: readonly Tenant[];
  #marks = 0;

  constructor(tenants: readonly Tenant[]) {
    this.#tenants = tenants;
  }

  /** Every account begins with one of each of the things that others need. */
  async furnish(operations: readonly Operation[]): Promise<void> {
    for (const tenant of this.#tenants) {
      for (const operation of operations.filter(({ makes }) => makes !== undefined)) {
        const things = operation.takes.map(({ noun }) => tenant.of(noun)[0]);
        await this.#perform(tenant, operation, things);
        must(
          operation.makes !== undefined && tenant.of(operation.makes).length > 0,
          `${operation.name} failed`,
        );
      }
    }
    passTime(BETWEEN_STEPS_MS);
    // From now on all hosts are away, and nothing changes by itself.
    for (const { accountId } of this.#tenants) await runDurableObjectAlarm(fleetObject(accountId));
    for (const tenant of this.#tenants) await tenant.look();
  }

  /** Whatever the caller does in its turn, all others have what they had, and it is shown nothing of theirs. */
  async take(operations: readonly Operation[], { caller, steps }: Turn): Promise<void> {
    const tenant = this.#tenant(caller);
    const others = this.#tenants.filter((other) => other !== tenant);
    const before = others.map((other) => other.seen);
    const called: string[] = [];
    for (const step of steps) {
      const operation = operations[step.operation % operations.length];
      if (operation === undefined) continue;
      await this.#act(tenant, operation, step);
      called.push(operation.name);
    }
    const after = await Promise.all(others.map((other) => other.look()));
    const what = called.join(" or ");
    for (const [index, seen] of after.entries()) {
      must(
        seen === before[index],
        `${what} changed another account: ${firstDifference(before[index], seen)}`,
      );
    }
    this.#mustShowOnly(tenant, await tenant.look(), []);
  }

  async #act(tenant: Tenant, operation: Operation, { owners, picks }: Step): Promise<void> {
    passTime(BETWEEN_STEPS_MS);
    const things = operation.takes.map(({ noun }, place) => {
      const owned = this.#tenant(owners[place] ?? 0).of(noun);
      return owned[(picks[place] ?? 0) % Math.max(1, owned.length)];
    });
    const isForeign = things.some((thing) => thing === undefined || !tenant.things.includes(thing));
    if (!isForeign && operation.waits) return;

    if (isForeign) await this.#reachInto(tenant, operation, things);
    else await this.#perform(tenant, operation, things);
  }

  /** What is the caller's own works, and the model follows. */
  async #perform(
    tenant: Tenant,
    operation: Operation,
    things: readonly (Thing | undefined)[],
  ): Promise<void> {
    const terms = things.map((thing, place) => wordOf(operation, place, thing));
    this.#marks += 1;
    const mark = `${tenant.mark}${this.#marks}`;
    const answer = await tenant.ask(operation.call(terms, mark));
    this.#mustShowOnly(tenant, answer.text, []);
    if (!isDone(answer)) return;

    const [first] = things;
    const id = /"id":"([^"]+)"/.exec(answer.text)?.[1];
    if (operation.makes && id !== undefined) {
      tenant.gain({ noun: operation.makes, id, name: mark, endpointId: first?.id });
    }
    if (operation.removes && first) tenant.lose(first);
  }

  /** What is another's is answered as if it never was. */
  async #reachInto(
    tenant: Tenant,
    operation: Operation,
    things: readonly (Thing | undefined)[],
  ): Promise<void> {
    const terms = things.map((thing, place) => wordOf(operation, place, thing));
    const strange = things.map((thing, place) =>
      thing && tenant.things.includes(thing)
        ? wordOf(operation, place, thing)
        : wordOf(operation, place, undefined),
    );
    const mark = `${tenant.mark}x`;
    const answer = await tenant.ask(operation.call(terms, mark));
    const expected = await tenant.ask(operation.call(strange, mark));

    this.#mustShowOnly(tenant, answer.text, terms);
    must(ERROR_STATUSES.includes(answer.status), `${operation.name} answered ${answer.status}`);
    must(!operation.removes || !isDone(answer), `${operation.name} removed what is another's`);
    const [told, strangeAnswer] = [plain(answer, terms), plain(expected, strange)];
    must(told === strangeAnswer, `${operation.name} tells more: ${told} instead of ${strangeAnswer}`);
  }

  #mustShowOnly(tenant: Tenant, text: string, sent: readonly string[]): void {
    const shown = without(text, sent);
    for (const other of this.#tenants) {
      const trace = other === tenant ? undefined : other.traces.find((secret) => shown.includes(secret));
      must(
        trace === undefined,
        `${tenant.mark} was shown '${trace}' of ${other.mark}: ${text.slice(0, 500)}`,
      );
    }
  }

  #tenant(index: number): Tenant {
    const tenant = this.#tenants[index];
    if (tenant === undefined) throw new Error(`no account ${index}`);
    return tenant;
  }
}

function wordOf(operation: Operation, place: number, thing: Thing | undefined): string {
  const taken = operation.takes[place];
  if (taken === undefined) throw new Error(`${operation.name} takes nothing at ${place}`);
  return thing === undefined ? neverWas(taken) : wordFor(thing, taken);
}

function isDone({ status, text }: Answer): boolean {
  return status < 300 && !text.includes('"errors"');
}

/** An answer but for what the caller sent. */
function plain({ status, text }: Answer, sent: readonly string[]): string {
  return `${status} ${without(text, sent)}`;
}

function without(text: string, terms: readonly string[]): string {
  return terms.reduce((rest, word) => (word === "" ? rest : rest.replaceAll(word, "…")), text);
}

/** Where two texts part, with what surrounds it. */
function firstDifference(before = "", after = ""): string {
  let at = 0;
  while (at < after.length && after[at] === before[at]) at += 1;
  const from = Math.max(0, at - 100);
  return JSON.stringify([before.slice(from, at + 100), after.slice(from, at + 100)]);
}

function must(isRight: boolean, what: string): asserts isRight {
  if (!isRight) throw new Error(what);
}

// Tests

test("a history ends before anything in it expires", ({ expect }) => {
  expect(TURNS_MAX * STEPS_MAX * BETWEEN_STEPS_MS).toBeLessThan(RUN_RETENTION_MS);
});

test("every operation whose field exists fits the schema", ({ expect }) => {
  const misfits = OPERATIONS.filter((operation) => presenceOf(operation) === "misfit");
  expect(misfits.map(({ name }) => name)).toEqual([]);
});

test(
  "accounts neither see nor change nor learn of each other's things",
  { timeout: 600_000 },
  async ({ expect }) => {
    const operations = await presentOperations();
    expect(operations.length).toBeGreaterThan(30);
    await fc.assert(
      fc.asyncProperty(fc.array(turnArbitrary, { minLength: 4, maxLength: TURNS_MAX }), async (turns) => {
        const names = Array.from(
          { length: TENANTS },
          (_, index) => `own-${"abc"[index]}-${crypto.randomUUID().slice(0, 8)}-`,
        );
        const scene = new Scene(await Promise.all(names.map((name) => Tenant.open(name))));
        await scene.furnish(operations);
        for (const turn of turns) await scene.take(operations, turn);
      }),
      {
        numRuns: Math.max(1, Math.round(Number(env.MODEL_RUNS) / 50)),
        endOnFailure: true, // to look for a shorter history would take longer than a test may
        ...(env.MODEL_SEED && { seed: Number(env.MODEL_SEED) }),
        ...(env.MODEL_PATH && { path: env.MODEL_PATH }),
      },
    );
  },
);

test("every operation refuses the things of another account", { timeout: 300_000 }, async () => {
  const operations = await presentOperations();
  const scene = new Scene([await Tenant.open("own-a-"), await Tenant.open("own-b-")]);
  await scene.furnish(operations);
  const steps = operations.flatMap(({ takes }, operation) => {
    const owners =
      takes.length < 2
        ? [[1, 1]]
        : [
            [1, 1],
            [0, 1],
          ];
    return owners.map((owned) => ({ operation, owners: owned, picks: [0, 0] }));
  });
  for (let from = 0; from < steps.length; from += CALLS_PER_LOOK) {
    await scene.take(operations, { caller: 0, steps: steps.slice(from, from + CALLS_PER_LOOK) });
  }
});
