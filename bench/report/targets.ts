/** What Edgerun is to reach, beside what was measured. */
import type { ContestantName } from "../contestants/contestant.ts";
import type { Line, Sheet } from "./sheet.ts";
import { markdown, show } from "./table.ts";

type Place = Omit<Line, "unit">;

type Target = {
  readonly what: string;
  readonly isAtLeast?: true;
  readonly bound: number;
  /** Undefined when it was not measured. */
  readonly measured: (sheet: Sheet) => number | undefined;
};

const FEW = "1,000 queued";
const MANY = "995,000 queued";
const DEPTH_OPERATIONS = [
  ["submit", "run, 1 client"],
  ["claim", "claim, 1 slot"],
  ["status", "status, 1 client"],
  ["cancel", "cancel, 1 client"],
  ["health", "health, 1 client"],
] as const;
const ASYNC_COSTS = [
  "run, status and webhook, a job every 3 s",
  "run, status and webhook, 16 clients at 4 workers with one slot",
  "run, status and webhook, 64 clients at one worker with 64 slots",
] as const;
const SYNC_SECONDS = [0.1, 2, 60] as const;

const TARGETS: readonly Target[] = [
  {
    what: "runsync at 64 clients, jobs per s ÷ bullmq-always",
    isAtLeast: true,
    bound: 1.25,
    measured: beside({ scenario: "runsync", variant: "64 clients", figure: "jobs" }),
  },
  {
    what: "runsync at 1 client, p50 ÷ bullmq-always",
    bound: 1.25,
    measured: beside({ scenario: "runsync", variant: "1 client", figure: "p50" }),
  },
  {
    what: "runsync at 64 clients, p99 ÷ bullmq-always",
    bound: 2,
    measured: beside({ scenario: "runsync", variant: "64 clients", figure: "p99" }),
  },
  ...DEPTH_OPERATIONS.flatMap(([name, scenario]) =>
    ["p50", "p99"].map((figure) => ({
      what: `${name}, ${figure} with ${MANY} ÷ with ${FEW}`,
      bound: 1.5,
      measured: grown({ scenario, figure }),
    })),
  ),
  {
    what: `rows read by a claim and its end, with ${MANY} ÷ with ${FEW}`,
    bound: 1,
    measured: grown({ scenario: "rows of claim and finish, one job at a time", figure: "read" }),
  },
  {
    what: `first status after a start, ${MANY}, in ms`,
    bound: 100,
    measured: own({ scenario: "wake", variant: MANY, figure: "first status" }),
  },
  {
    what: "rows written by a job of a backlog, 64 slots, without its removal (stretch: 2.3)",
    bound: 3,
    measured: own({ scenario: "rows of run, claim and finish, 64 slots", variant: FEW, figure: "written" }),
  },
  ...ASYNC_COSTS.flatMap((variant) => [
    {
      what: `rows written by a job, removal included: ${variant} (stretch: 3.3)`,
      bound: 4,
      measured: own({ scenario: "cost", variant, figure: "rows written a job, removal included" }),
    },
    {
      what: `$ per million jobs: ${variant}`,
      bound: 4.2,
      measured: own({ scenario: "cost", variant, figure: "$ per million jobs" }),
    },
  ]),
  ...SYNC_SECONDS.map((seconds) => {
    const variant = `runsync of ${seconds} s, one at a time`;
    return {
      what: `$ per million jobs: ${variant}`,
      bound: 4.6,
      measured: own({ scenario: "cost", variant, figure: "$ per million jobs" }),
    };
  }),
  ...["no worker", "4 idle workers"].map((workers) => ({
    what: `$ a month of an idle endpoint with one connected agent and ${workers}`,
    bound: 0.05,
    measured: own({ scenario: "cost", variant: `idle, one agent, ${workers}`, figure: "$ a month" }),
  })),
];

/** Every target with its bound, what was measured, and whether that is enough. */
export function targetTable(sheet: Sheet): string {
  const rows = TARGETS.map(({ what, isAtLeast, bound, measured }) => {
    const value = measured(sheet);
    const isMet = value !== undefined && (isAtLeast ? value >= bound : value <= bound);
    const verdict = value === undefined ? "not measured" : isMet ? "met" : "MISSED";
    return [what, `${isAtLeast ? "≥" : "≤"} ${bound}`, value === undefined ? "–" : show(value), verdict];
  });
  return markdown([["figure", "target", "measured", ""], ...rows]);
}

function own(place: Place, contestant: ContestantName = "edgerun") {
  return (sheet: Sheet): number | undefined => sheet.value(place, contestant);
}

function beside(place: Place) {
  return ratio(own(place), own(place, "bullmq-always"));
}

function grown(place: Omit<Place, "variant">) {
  return ratio(own({ ...place, variant: MANY }), own({ ...place, variant: FEW }));
}

function ratio(above: Target["measured"], below: Target["measured"]): Target["measured"] {
  return (sheet) => {
    const [a, b] = [above(sheet), below(sheet)];
    return a === undefined || b === undefined || b === 0 ? undefined : a / b;
  };
}
