/** The real D1, with something happening before it is asked. */
import { env } from "cloudflare:workers";
import type { Env } from "../../src/env.ts";

type Question = "statement" | "batch";

/** Bindings whose database calls back before each question; what that throws is the answer. */
export function withTap(before: (question: Question) => Promise<void>): Env {
  const originals = new WeakMap<object, D1PreparedStatement>();
  const tapStatement = (statement: D1PreparedStatement): D1PreparedStatement => {
    const tapped = new Proxy(statement, {
      get: (target, name) => {
        const member = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        if (name === "bind") return (...values: unknown[]) => tapStatement(target.bind(...values));
        return async (...options: unknown[]) => {
          await before("statement");
          return await member.apply(target, options);
        };
      },
    });
    originals.set(tapped, statement);
    return tapped;
  };
  const tapped = new Proxy(env.DB, {
    get: (database, name) => {
      if (name === "prepare") return (query: string) => tapStatement(database.prepare(query));
      if (name !== "batch") return Reflect.get(database, name);
      return async (statements: D1PreparedStatement[]) => {
        await before("batch");
        return await database.batch(statements.map((statement) => originals.get(statement) ?? statement));
      };
    },
  });
  return { ...env, DB: tapped };
}

/** Bindings whose database lets something happen right before the question of this number; the first one is 1. */
export function withMeantimeBefore(number: number, happen: () => Promise<unknown>) {
  let asked = 0;
  return withTap(async () => {
    asked += 1;
    if (asked === number) await happen();
  });
}

/** Bindings whose database lets something happen once, right before the first batch after it was armed. */
export function withMeantime() {
  let meantime: (() => Promise<unknown>) | undefined;
  const bindings = withTap(async (question) => {
    if (question !== "batch") return;
    const happen = meantime;
    meantime = undefined;
    await happen?.();
  });
  return {
    bindings,
    arm: (happen: () => Promise<unknown>) => {
      meantime = happen;
    },
  };
}

/** Bindings whose database fails once, at the question of this number (the first one is 1) after it was armed. */
export function withFailure() {
  let left = 0;
  const bindings = withTap(async () => {
    left -= 1;
    if (left === 0) throw new Error("D1_ERROR: D1 DB is overloaded. Requests queued for too long.");
  });
  return {
    bindings,
    arm: (question: number) => {
      left = question;
    },
    hasFailed: () => left <= 0,
    disarm: () => {
      left = 0;
    },
  };
}
