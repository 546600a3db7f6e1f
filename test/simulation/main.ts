/**
 * `npm run simulate -- [--seeds N] [--from SEED] [--minutes M] [--trace]`: runs histories, and shows those in which
 * something was wrong. A seed with `--trace` prints everything that happened in its history.
 */
import { parseArgs } from "node:util";
import { installModules } from "./runtime/modules.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    from: { type: "string", default: "1" },
    minutes: { type: "string" },
    trace: { type: "boolean", default: false },
  },
});

installModules();
const { simulate } = await import("./simulate.ts");
const isRight = await simulate({
  from: Number(values.from),
  count: Number(values.seeds),
  minutes: values.minutes === undefined ? null : Number(values.minutes),
  isTraced: values.trace,
});
process.exit(isRight ? 0 : 1);
