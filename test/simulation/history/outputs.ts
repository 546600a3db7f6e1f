/** What handlers return, and whether an output that someone is shown is that of the attempt which completed the job. */
import { decodeJobId } from "../../../src/domain/jobs/job-id.ts";
import type { JobChange } from "../runtime/storage.ts";
import type { Executions } from "./executions.ts";
import type { HistoryPlan } from "./plan.ts";

export type OutputsParts = {
  readonly plan: HistoryPlan;
  readonly executions: Executions;
  readonly violate: (what: string) => void;
};

type Returned = { readonly jobId: string; readonly text: string };
/** The attempt that has completed a job. */
type Completion = { readonly workerId: string | null; readonly startedAt: number | null };
type Output = { readonly mark?: number; readonly by?: string };

const SHOWN_LENGTH = 80;

export class Outputs {
  readonly #parts: OutputsParts;
  readonly #returned = new Map<number, Returned>();
  /** By the nonces of jobs. */
  readonly #completions = new Map<string, Completion>();

  constructor(parts: OutputsParts) {
    this.#parts = parts;
  }

  returned(jobId: string, mark: number, output: object): void {
    this.#returned.set(mark, { jobId, text: JSON.stringify(output) });
  }

  jobChanged({ nonce, after, workerId, startedAt }: JobChange): void {
    if (after === "completed") this.#completions.set(nonce, { workerId, startedAt });
  }

  /** `where`: who is shown it. */
  check(jobId: string, output: unknown, where: string): void {
    const mistake = this.#mistakeOf(jobId, output);
    const shown = JSON.stringify(output).slice(0, SHOWN_LENGTH);
    if (mistake !== undefined) this.#parts.violate(`${where} has for ${jobId} ${mistake}: ${shown}`);
  }

  #mistakeOf(jobId: string, output: unknown): string | undefined {
    const { executions, plan } = this.#parts;
    const { mark = NaN, by } = (output ?? {}) as Output;
    const returned = this.#returned.get(mark);
    if (!returned) return "an output that no handler has returned";
    if (returned.jobId !== jobId) return `the output of ${returned.jobId}`;
    if (returned.text !== JSON.stringify(output)) return "an output that was changed";
    if (executions.isContradicting(mark)) return "an output, though its agent had taken another one";
    const completion = this.#completions.get(decodeJobId(jobId)?.nonce ?? "");
    if (!completion) return "an output, and is not completed";
    const skewMs = 2 * (plan.faults.get("clockSkew") ?? 0);
    const isEarlier = (executions.beganAt(mark) ?? 0) < (completion.startedAt ?? 0) - skewMs;
    return isEarlier || by !== completion.workerId ? "the output of another attempt" : undefined;
  }
}
