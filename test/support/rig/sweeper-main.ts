/** The sweeper's own process; see sweeper.ts. Sweeps when its input ends. */
import { sweep } from "./sweep.ts";

// The terminal's signals are not for us; only the pipe counts.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

for await (const _text of process.stdin);
await sweep(process.argv[2] ?? "");
