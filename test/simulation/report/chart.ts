/** A history as a sequence chart in the language of Mermaid. */
import type { TraceLine } from "../world/world.ts";

/** Whom a call goes to, and what it is: `endpoint x#0.exchange`, `POST /v2/x/run`, `D1`, `payloads.put`. */
function readCall(what: string): { readonly to: string; readonly label: string } {
  if (/^[A-Z]+ \//.test(what)) return { to: "script", label: what };
  const dot = what.lastIndexOf(".");
  return dot < 0 ? { to: what, label: what } : { to: what.slice(0, dot), label: what.slice(dot + 1) };
}

export function chartOf(trace: readonly TraceLine[]): string {
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
  return ["sequenceDiagram", ...participants, ...steps].join("\n");
}
