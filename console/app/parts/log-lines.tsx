/** Lines of logs as text: whatever a worker prints is never markup. */
import type { LogLineView } from "../../../src/contract/agent/log.ts";

export function LogLines({ lines }: { readonly lines: readonly LogLineView[] }) {
  return (
    <div
      role="log"
      tabIndex={0}
      aria-label="Log lines"
      className="max-h-[70vh] overflow-auto rounded-lg border border-line bg-card p-3 font-mono text-xs leading-5"
    >
      {lines.map((line) => (
        <div key={line.id} className="flex gap-3 break-words whitespace-pre-wrap [content-visibility:auto]">
          <time
            className="shrink-0 text-quiet"
            dateTime={new Date(line.at).toISOString()}
            title={new Date(line.at).toLocaleString()}
          >
            {new Date(line.at).toLocaleTimeString()}
          </time>
          <span className={`min-w-0 ${lineTone(line)}`}>{line.line}</span>
        </div>
      ))}
    </div>
  );
}

function lineTone({ level, source }: LogLineView): string {
  if (level && /error|critical|fatal/i.test(level)) return "text-bad";
  if (level && /warn/i.test(level)) return "text-wait";
  return source === "system" ? "text-quiet" : "text-ink";
}
