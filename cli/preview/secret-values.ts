/**
 * What deployed workers get from the account's secrets, those of a preview get from `.env`. A variable that is declared
 * without a value is filled from there as well; one with a value stays as it is, as it does when it is deployed.
 */
import { fillReferences, referencedSecrets } from "../../src/domain/accounts/secret-reference.ts";
import { Failure } from "../core/failure.ts";

type Values = Readonly<Record<string, string | undefined>>;
type Variable = { readonly key: string; readonly value: string };

/** By endpoint name. */
export type DeclaredVariables = ReadonlyMap<string, readonly Variable[]>;

export type FilledVariables = {
  readonly variables: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** What came from there, to be shown to nobody. */
  readonly secrets: readonly string[];
};

/** Throws a Failure that names every secret that is missing, and who wants it. */
export function fillVariables(declared: DeclaredVariables, values: Values): FilledVariables {
  const missing = [...declared].flatMap(([endpoint, variables]) => missingOf(endpoint, variables, values));
  if (missing.length > 0) {
    throw new Failure("Endpoints refer to secrets that .env does not have.", [
      ...missing,
      "Put them into .env, which is never shipped; deployed workers get them from the account's secrets.",
    ]);
  }
  const used = new Set<string>();
  const take = (name: string): string => {
    const value = values[name] ?? "";
    if (value !== "") used.add(value);
    return value;
  };
  const filled = [...declared].map(([endpoint, variables]) => {
    const entries = variables.map(({ key, value }) => [
      key,
      value === "" ? take(key) : fillReferences(value, take),
    ]);
    return [endpoint, Object.fromEntries(entries) as Record<string, string>] as const;
  });
  return { variables: new Map(filled), secrets: [...used] };
}

function missingOf(endpoint: string, variables: readonly Variable[], values: Values): readonly string[] {
  return variables.flatMap(({ key, value }) =>
    [...new Set(referencedSecrets(value))]
      .filter((name) => values[name] === undefined)
      .map((name) => `${name}=… for the variable ${key} of ${endpoint}`),
  );
}
