/** A history as a sequence chart in the language of Mermaid. */
import type { TraceLine } from "../world/world.ts";

/** Whom a call goes to, and what it is: `endpoint x#0.exchange`, `POST /v2/x/run`, `D1`, `payloads.put`. */
function readCall(what: string): { readonly to: string; readonly label: string } {
  if (/^[A-Z]+ \//.test(what)) return { to: "script", label: what };
  const dot = what.lastIndexOf(".");
  return dot < 0 ? { to: what, label: what } : { to: what.slice(0, dot), label: what.slice(dot + 1) };
}

/** Longer ones are not drawn by Mermaid, whose limit is 50,000 characters. */
const CHART_MAX_CHARACTERS = 45_000;
/** Shown of what follows the first thing that was wrong. */
const LINES_AFTER = 5;

/** The whole history; of a long one as much as can be drawn, up to what was wrong first, or to its end. */
export function chartOf(trace: readonly TraceLine[]): string {
  const wrongAt = trace.findIndex(({ machine }) => machine === "invariants");
  const shown = wrongAt < 0 ? trace : trace.slice(0, wrongAt + LINES_AFTER);
  for (let from = 0; ; from += Math.ceil((shown.length - from) / 10)) {
    const chart = drawn(shown.slice(from), { before: from, after: trace.length - shown.length });
    if (chart.length <= CHART_MAX_CHARACTERS || from >= shown.length) return chart;
  }
}

type LeftOut = { readonly before: number; readonly after: number };

function drawn(trace: readonly TraceLine[], { before, after }: LeftOut): string {
  const names = new Map<string, string>();
  const idOf = (name: string): string => {
    const id = names.get(name) ?? `p${names.size + 1}`;
    names.set(name, id);
    return id;
  };
  const steps = trace.map(({ at, machine, what }) => {
    const from = idOf(machine);
    const said = (text: string): string => `${at} ms ${text.replaceAll(/[;#]/g, ",")}`;
    if (!what.startsWith("calls ")) return `  Note over ${from}: ${said(what)}`;
    const { to, label } = readCall(what.slice("calls ".length));
    return `  ${from}->>${idOf(to)}: ${said(label)}`;
  });
  const participants = [...names].map(([name, id]) => `  participant ${id} as ${name.replaceAll("#", " ")}`);
  const leftOut = (count: number, which: string): string[] =>
    count === 0 || names.size === 0 ? [] : [`  Note over p1: ${count} ${which} events are left out`];
  return [
    "sequenceDiagram",
    ...participants,
    ...leftOut(before, "earlier"),
    ...steps,
    ...leftOut(after, "later"),
  ].join("\n");
}
