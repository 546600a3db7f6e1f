/** Metrics as Prometheus reads them: the text format, version 0.0.4. */
import type { Histogram } from "./histogram.ts";

type Labels = Readonly<Record<string, string>>;
type Sample = { readonly suffix?: string; readonly labels: Labels; readonly value: number };

/** A metric and its values; the name of a counter ends in `_total`. */
export type Family = {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly samples: readonly Sample[];
};

export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Borders of the buckets of times: 2^3 ms to 2^22 ms, which is 70 minutes. */
const FIRST_POWER = 3;
const LAST_POWER = 22;

/** Families without a value are left out. */
export function expose(families: readonly Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, help, type, samples }) => {
      const lines = samples.map(
        ({ suffix = "", labels, value }) => `${name}${suffix}${formatLabels(labels)} ${value}`,
      );
      return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ""].join("\n");
    })
    .join("");
}

/** The samples of a histogram of seconds; its counts are exact. */
export function histogramSamples(labels: Labels, histogram: Histogram): Sample[] {
  const buckets: Sample[] = [];
  for (let power = FIRST_POWER; power <= LAST_POWER; power += 1) {
    const le = String(2 ** power / 1_000);
    buckets.push({ suffix: "_bucket", labels: { ...labels, le }, value: histogram.countUpTo(power) });
  }
  return [
    ...buckets,
    { suffix: "_bucket", labels: { ...labels, le: "+Inf" }, value: histogram.count },
    { suffix: "_sum", labels, value: histogram.sum / 1_000 },
    { suffix: "_count", labels, value: histogram.count },
  ];
}

function formatLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
