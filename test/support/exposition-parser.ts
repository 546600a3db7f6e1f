/** A strict reader of the text format of Prometheus: what its own parser would refuse or warn of is an error here. */

export type ParsedSample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};
export type ParsedFamily = {
  readonly type: string;
  readonly help: string;
  readonly samples: readonly ParsedSample[];
};

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const VALUE = /^(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?Inf|NaN)$/;
const TYPES = ["counter", "gauge", "histogram", "summary", "untyped"];

type OpenFamily = { type: string; help: string; samples: ParsedSample[] };

/** Reads a whole answer; throws at the first line that is wrong, and for families that contradict themselves. */
export function parseExposition(text: string): ReadonlyMap<string, ParsedFamily> {
  if (text !== "" && !text.endsWith("\n")) throw new Error("The last line has no end.");
  const families = new Map<string, OpenFamily>();
  let current = "";
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [, keyword, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (keyword === "HELP") current = openFamily(families, name, rest);
    else if (keyword === "TYPE") setType(families.get(name), name === current, rest, line);
    else addSample(families.get(current), current, line);
  }
  for (const [name, family] of families) check(name, family);
  return families;
}

function openFamily(families: Map<string, OpenFamily>, name: string, help: string): string {
  if (families.has(name)) throw new Error(`Family ${name} is there twice.`);
  families.set(name, { type: "", help, samples: [] });
  return name;
}

function setType(family: OpenFamily | undefined, isCurrent: boolean, type: string, line: string): void {
  if (!family || !isCurrent || family.samples.length > 0) throw new Error(`Misplaced: ${line}`);
  if (!TYPES.includes(type)) throw new Error(`Unknown type: ${line}`);
  family.type = type;
}

function addSample(family: OpenFamily | undefined, name: string, line: string): void {
  const sample = parseSample(line);
  if (!family || !belongs(sample.name, name, family.type)) throw new Error(`Stray sample: ${line}`);
  family.samples.push(sample);
}

function parseSample(line: string): ParsedSample {
  const name = NAME.exec(line)?.[0] ?? "";
  let rest = line.slice(name.length);
  const labels: Record<string, string> = {};
  if (rest.startsWith("{")) {
    rest = rest.slice(1);
    while (!rest.startsWith("}")) {
      const match = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,?)/.exec(rest);
      if (!match) throw new Error(`Broken labels: ${line}`);
      const [whole, label = "", value = ""] = match;
      if (label in labels) throw new Error(`Label ${label} is there twice: ${line}`);
      labels[label] = value.replaceAll(/\\(.)/g, (_, character: string) =>
        character === "n" ? "\n" : character,
      );
      rest = rest.slice(whole.length);
    }
    rest = rest.slice(1);
  }
  if (name === "" || !rest.startsWith(" ") || !VALUE.test(rest.slice(1))) throw new Error(`Broken: ${line}`);
  return { name, labels, value: Number(rest.slice(1).replace("Inf", "Infinity")) };
}

function belongs(sample: string, family: string, type: string): boolean {
  if (type === "histogram") return [`${family}_bucket`, `${family}_sum`, `${family}_count`].includes(sample);
  if (type === "summary") return [family, `${family}_sum`, `${family}_count`].includes(sample);
  return sample === family;
}

function check(name: string, { type, help, samples }: ParsedFamily): void {
  if (type === "" || help === "") throw new Error(`Family ${name} has no type or no help.`);
  if (type === "counter" && !name.endsWith("_total"))
    throw new Error(`Counter ${name} does not end in _total.`);
  const series = samples.map(
    (sample) =>
      `${sample.name} ${JSON.stringify(Object.entries(sample.labels).toSorted(([a], [b]) => a.localeCompare(b)))}`,
  );
  if (new Set(series).size !== series.length) throw new Error(`Family ${name} has a series twice.`);
  if (type === "histogram") checkHistogram(name, samples);
}

function checkHistogram(name: string, samples: readonly ParsedSample[]): void {
  const without = ({ labels: { le: _, ...labels } }: ParsedSample) => JSON.stringify(labels);
  for (const group of Map.groupBy(samples, without).values()) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`);
    const borders = buckets.map(({ labels }) => Number(labels["le"]?.replace("Inf", "Infinity")));
    const grows = (list: readonly number[]) =>
      list.every((value, at) => at === 0 || value >= (list[at - 1] ?? 0));
    if (!grows(borders) || borders.at(-1) !== Infinity) throw new Error(`Borders of ${name} are wrong.`);
    if (!grows(buckets.map(({ value }) => value))) throw new Error(`Buckets of ${name} are not cumulative.`);
    const count = group.find((sample) => sample.name === `${name}_count`)?.value;
    if (count !== buckets.at(-1)?.value)
      throw new Error(`The count of ${name} is not that of its last bucket.`);
    if (!group.some((sample) => sample.name === `${name}_sum`)) throw new Error(`${name} has no sum.`);
  }
}
