/** Which changes of a job were seen soon after which faults, over many histories. */
import type { Changes } from "../history/invariants.ts";
import { CHANGES } from "../history/job-rows.ts";
import { FAULTS } from "../history/planned-faults.ts";

export class Coverage {
  readonly #counts: Changes = new Map();

  add(changes: Changes): void {
    for (const [change, counts] of changes) {
      const row = this.#counts.get(change) ?? new Map();
      this.#counts.set(change, row);
      for (const [fault, count] of counts) row.set(fault, (row.get(fault) ?? 0) + count);
    }
  }

  /** A row for each change: how often it was seen within ten seconds after each fault, and after none of them. */
  table(): string {
    const columns = ["none", ...FAULTS] as const;
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
