/** All cases of what objects go through. */
import { ALARMS } from "./alarms.ts";
import { CONNECTIONS } from "./connections.ts";
import { GATES } from "./gates.ts";
import { RESETS } from "./resets.ts";
import type { LifecycleCase } from "./subject.ts";

export const LIFECYCLE: readonly LifecycleCase[] = [...GATES, ...ALARMS, ...RESETS, ...CONNECTIONS];
