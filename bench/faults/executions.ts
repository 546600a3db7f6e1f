/** Where and when handlers ran, as the workers themselves have recorded it. */
import { existsSync, readFileSync } from "node:fs";
import { isAlive } from "../../test/support/leftovers.ts";

/** Moments are those of `Date.now()`, which all hosts of a machine share. */
export type Execution = {
  readonly jobId: string;
  readonly workerId: string;
  readonly host: string;
  readonly pid: number;
  readonly beganAt: number;
  /** Undefined while it goes on. */
  endedAt?: number;
};

type Line = {
  readonly event: "begins" | "ends";
  readonly jobId: string;
  readonly workerId: string;
  readonly pid: number;
  readonly directory: string;
  readonly at: number;
};

export class Executions {
  readonly #file: string;
  /** Part of the path of what belongs to a host, and its name. */
  readonly #hosts: ReadonlyMap<string, string>;
  /** When a process was first seen dead. */
  readonly #deaths = new Map<number, number>();

  constructor(file: string, hosts: ReadonlyMap<string, string>) {
    this.#file = file;
    this.#hosts = hosts;
  }

  /** Looks for processes that have died under a handler. */
  look(): void {
    for (const { pid, endedAt } of this.#recorded())
      if (endedAt === undefined && !this.#deaths.has(pid) && !isAlive(pid)) this.#deaths.set(pid, Date.now());
  }

  /** In the order in which they began. */
  get all(): readonly Execution[] {
    return this.#recorded().map((one) => {
      const endedAt = one.endedAt ?? this.#deaths.get(one.pid);
      return endedAt === undefined ? one : { ...one, endedAt };
    });
  }

  of(jobId: string): readonly Execution[] {
    return this.all.filter((one) => one.jobId === jobId);
  }

  #recorded(): readonly Execution[] {
    if (!existsSync(this.#file)) return [];
    const lines = readFileSync(this.#file, "utf8").split("\n").slice(0, -1);
    const found: Execution[] = [];
    const running = new Map<string, Execution>();
    for (const { event, directory, at, ...rest } of lines.map((line) => JSON.parse(line) as Line)) {
      const key = `${rest.jobId} ${rest.pid}`;
      if (event === "ends") {
        const execution = running.get(key);
        if (execution) execution.endedAt = at;
        continue;
      }
      const host = [...this.#hosts].find(([path]) => directory.startsWith(path))?.[1] ?? "?";
      const execution: Execution = { ...rest, host, beganAt: at };
      running.set(key, execution);
      found.push(execution);
    }
    return found;
  }
}

/** Pairs of executions of a job that went on at once: the earlier and the later. */
export function overlaps(executions: readonly Execution[]): readonly (readonly [Execution, Execution])[] {
  return executions.flatMap((earlier, index) =>
    executions
      .slice(index + 1)
      .filter((later) => later.jobId === earlier.jobId && later.beganAt < (earlier.endedAt ?? Infinity))
      .map((later) => [earlier, later] as const),
  );
}
