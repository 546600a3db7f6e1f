/** A small chart of one series: a line over time, drawn once per reading. */
type Props = {
  readonly label: string;
  readonly points: readonly { readonly at: number; readonly value: number | null }[];
  readonly format: (value: number) => string;
};

const WIDTH = 320;
const HEIGHT = 72;
const MARGIN = 4;

export function Chart({ label, points, format }: Props) {
  const measured = points.map(({ value }) => value ?? 0);
  // One point is a line as well.
  const values = measured.length === 1 ? [...measured, ...measured] : measured;
  const highest = Math.max(...values, 0);
  const last = points.at(-1)?.value;
  return (
    <figure className="m-0 rounded-lg border border-line bg-card p-3">
      <figcaption className="mb-2 flex justify-between gap-2 text-xs text-quiet">
        <span>{label}</span>
        <span className="tabular-nums">
          {last === null || last === undefined ? "–" : format(last)}, at most {format(highest)}
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}: at most ${format(highest)}`}
        className="h-20 w-full text-accent"
      >
        <path
          d={pathOf(values, highest)}
          fill="none"
          stroke="currentColor"
          strokeWidth="1.5"
          vectorEffect="non-scaling-stroke"
        />
      </svg>
    </figure>
  );
}

function pathOf(values: readonly number[], highest: number): string {
  const step = WIDTH / Math.max(1, values.length - 1);
  const scale = (HEIGHT - 2 * MARGIN) / (highest || 1);
  return values
    .map(
      (value, index) =>
        `${index === 0 ? "M" : "L"}${(index * step).toFixed(1)} ${(HEIGHT - MARGIN - value * scale).toFixed(1)}`,
    )
    .join("");
}
