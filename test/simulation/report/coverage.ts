/** Which changes of a job were seen in histories in which which faults have happened, over many of them. */
import type { HistoryOutcome } from "../history/history.ts";
import { CHANGES } from "../history/job-rows.ts";
import { FAULTS } from "../history/planned-faults.ts";

export class Coverage {
  readonly #counts = new Map<string, Map<string, number>>();

  add({ changes, faults }: HistoryOutcome): void {
    for (const [change, count] of changes) {
      const row = this.#counts.get(change) ?? new Map<string, number>();
      this.#counts.set(change, row);
      for (const fault of faults.size === 0 ? ["none"] : faults.keys())
        row.set(fault, (row.get(fault) ?? 0) + count);
    }
  }

  /** A row for each change: how often it was seen with each fault in the same history. */
  table(): string {
    const columns = ["none", ...FAULTS];
    const rows = [...CHANGES].map((change) => [
      change,
      ...columns.map((fault) => String(this.#counts.get(change)?.get(fault) ?? 0)),
    ]);
    const cells = rows.flatMap((row) => row.slice(1));
    const seen = cells.filter((count) => count !== "0").length;
    const lines = [["change", ...columns], columns.map(() => "---").concat("---:"), ...rows];
    return [
      ...lines.map((line) => `| ${line.join(" | ")} |`),
      "",
      `${seen} of ${cells.length} pairs of a change and a fault were seen.`,
    ].join("\n");
  }
}
