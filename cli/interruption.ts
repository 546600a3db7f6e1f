import { EXIT_INTERRUPTED, Failure } from "./failure.ts";

/** The person has pressed Ctrl+C, or the system wants the command to end. */
export class Interruption extends Failure {
  constructor() {
    super("Cancelled.", [], EXIT_INTERRUPTED);
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Aborts on the first signal; the second one ends the process at once, with what `onHurry` still has to do. */
export function interruptions(onHurry: () => void): AbortSignal {
  const controller = new AbortController();
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (controller.signal.aborted) {
        onHurry();
        process.exit(EXIT_INTERRUPTED);
      }
      controller.abort(new Interruption());
    });
  }
  return controller.signal;
}
