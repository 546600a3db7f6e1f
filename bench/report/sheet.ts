/** All figures of a run: each is the median of what the rounds gave. */
import type { ContestantName } from "../contestants/contestant.ts";
import { median } from "../load/percentiles.ts";

export type Unit = "ms" | "/s" | "µs" | "rows" | "$" | "requests" | "s";

/** What was measured: `scenario` and `variant` say under which conditions, `figure` what of it. */
export type Line = {
  readonly scenario: string;
  readonly variant: string;
  readonly figure: string;
  readonly unit: Unit;
};

type Values = Map<ContestantName, number[]>;

export class Sheet {
  readonly #lines = new Map<string, { readonly line: Line; readonly values: Values }>();
  readonly remarks: string[] = [];

  add(line: Line, contestant: ContestantName, value: number): void {
    const key = keyOf(line);
    const entry = this.#lines.get(key) ?? { line, values: new Map() };
    this.#lines.set(key, entry);
    entry.values.set(contestant, [...(entry.values.get(contestant) ?? []), value]);
  }

  /** Something the reader must know; said at once, and again in the report. */
  remark(text: string): void {
    if (this.remarks.includes(text)) return;
    this.remarks.push(text);
    console.log(`!! ${text}`);
  }

  get lines(): readonly Line[] {
    return [...this.#lines.values()].map(({ line }) => line);
  }

  /** Undefined when it was not measured. */
  value(line: Omit<Line, "unit">, contestant: ContestantName): number | undefined {
    const values = this.#lines.get(keyOf(line))?.values.get(contestant);
    return values && median(values);
  }
}

function keyOf({ scenario, variant, figure }: Omit<Line, "unit">): string {
  return [scenario, variant, figure].join(" | ");
}
