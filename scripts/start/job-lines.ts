/** One line for each job that the agent of `npm start` has run, read from its log. */
import { closeSync, openSync, readSync, statSync, watch } from "node:fs";
import * as z from "zod";

const CHUNK_BYTES = 64 * 1024;

const eventSchema = z.object({
  msg: z.enum(["job_received", "job_reported"]),
  /** Unix ms. */
  time: z.number(),
  jobId: z.string(),
  attempt: z.number(),
  outcome: z.string().optional(),
});

/** Turns lines of the agent's log into lines for users; remembers when running jobs were received. */
export class JobLines {
  readonly #receivedAt = new Map<string, number>();

  /** The line to show; undefined where the log line ends no job. */
  read(text: string): string | undefined {
    const event = eventSchema.safeParse(parsed(text)).data;
    if (event === undefined) return undefined;
    const key = `${event.jobId}/${event.attempt}`;
    if (event.msg === "job_received") {
      this.#receivedAt.set(key, event.time);
      return undefined;
    }
    const since = this.#receivedAt.get(key);
    this.#receivedAt.delete(key);
    const took = since === undefined ? "" : ` in ${event.time - since} ms`;
    const attempt = event.attempt === 1 ? "" : `, attempt ${event.attempt}`;
    return `job ${event.jobId}  ${event.outcome ?? "ended"}${took}${attempt}`;
  }
}

/** Prints a line for each job that ends from now on, until the signal is aborted. */
export function followJobs(logPath: string, say: (line: string) => void, signal: AbortSignal): void {
  const lines = new JobLines();
  let position = statSync(logPath).size;
  let rest = "";
  const file = openSync(logPath, "r");
  const readNews = (): void => {
    const buffer = Buffer.alloc(CHUNK_BYTES);
    for (let count; (count = readSync(file, buffer, 0, CHUNK_BYTES, position)) > 0; position += count) {
      const [last = "", ...others] = `${rest}${buffer.toString("utf8", 0, count)}`.split("\n").toReversed();
      rest = last;
      for (const text of others.toReversed()) {
        const line = lines.read(text);
        if (line !== undefined) say(line);
      }
    }
  };
  const watcher = watch(logPath, readNews);
  watcher.on("error", () => {}); // the lines are a convenience
  signal.addEventListener("abort", () => {
    watcher.close();
    closeSync(file);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
