/** The timeline of a job as bars, from its submission to its end. */
import type { TimelineEvent } from "../../../src/contract/job.ts";
import { duration } from "./format.ts";

type Span = { readonly name: string; readonly from: number; readonly to: number; readonly tone: string };

/** Pairs of events that begin and end a span; the later ones lie within the earlier. */
const SPANS: readonly (readonly [name: string, from: string, to: readonly string[], tone: string])[] = [
  ["waits", "submitted", ["taken", "cancelled", "finished"], "bg-wait"],
  ["image", "image_pull_started", ["image_pull_ended"], "bg-border"],
  ["files", "files_download_started", ["files_download_ended"], "bg-border"],
  ["model", "model_download_started", ["model_download_ended"], "bg-border"],
  ["container", "container_starting", ["container_started"], "bg-border"],
  ["runtime", "container_started", ["runtime_started", "worker_ready"], "bg-border"],
  ["loads", "runtime_started", ["worker_ready"], "bg-border"],
  ["attempt", "taken", ["finished", "requeued", "cancelled"], "bg-busy"],
  ["handler", "handler_started", ["handler_finished"], "bg-good"],
];

export function Waterfall({
  events,
  now,
}: {
  readonly events: readonly TimelineEvent[];
  readonly now: number;
}) {
  const [first] = events;
  if (!first) return null;
  const spans = spansOf(events, now);
  const begin = first.at;
  const end = Math.max(...spans.map(({ to }) => to), ...events.map(({ at }) => at), begin + 1);
  return (
    <ol aria-label="Timeline" className="m-0 list-none space-y-1 p-0 text-sm">
      {spans.map(({ name, from, to, tone }, index) => (
        <li key={index} className="grid grid-cols-[5rem_minmax(0,1fr)_5rem] items-center gap-3">
          <span className="text-quiet">{name}</span>
          <span className="relative h-4 rounded bg-raised">
            <span
              className={`absolute inset-y-0 min-w-0.5 rounded ${tone}`}
              style={{ left: percent(from - begin, end - begin), width: percent(to - from, end - begin) }}
            />
          </span>
          <span className="text-right tabular-nums">{duration(to - from)}</span>
        </li>
      ))}
    </ol>
  );
}

function spansOf(events: readonly TimelineEvent[], now: number): readonly Span[] {
  const spans = SPANS.flatMap(([name, from, to, tone]) =>
    events.flatMap((event, index) => {
      if (event.event !== from) return [];
      const ended = events.slice(index + 1).find((later) => to.includes(later.event));
      return [{ name, from: event.at, to: Math.max(event.at, ended?.at ?? now), tone }];
    }),
  );
  return spans.toSorted((one, other) => one.from - other.from);
}

function percent(part: number, whole: number): string {
  return `${((100 * part) / whole).toFixed(2)}%`;
}
