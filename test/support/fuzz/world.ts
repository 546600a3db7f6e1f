/** What a fuzz run knows of the account that it writes to: ids and names that are real for a while. */
import type { Chance } from "./chance.ts";

/** Few, since the old ones are removed. */
const KEPT = 12;

export const HOSTILE_STRINGS: readonly string[] = [
  "",
  " ",
  "null",
  "__proto__",
  "constructor",
  "toString",
  'a"b',
  "a'b; DROP TABLE endpoint; --",
  "' OR 1=1 --",
  "a\\b",
  "line\nbreak\r\n\ttab",
  "nul\u0000byte",
  "\u001b[31mred",
  "\u202egnp.exe",
  "\ud83d\ude80 rocket",
  "lone \ud800 surrogate",
  "%00%2e%2e/",
  "../../etc/passwd",
  "${7*7}{{7*7}}",
  "{{ SECRET_marker }}",
  "<script>alert(1)</script>",
  "1e400",
  "NaN",
  "-0",
  "9".repeat(400),
  "x".repeat(5_000),
  "ｆｕｌｌ　ｗｉｄｔｈ",
  "\ufeffbom",
];

/** Texts of JSON values; some are no JSON. */
export const HOSTILE_JSON: readonly string[] = [
  "null",
  "true",
  "0",
  "-0",
  "1.5",
  "-1",
  "2147483648",
  "1e400",
  "-1e400",
  "9007199254740993",
  "1e-400",
  '""',
  "[]",
  "{}",
  "[[[[[[]]]]]]",
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":1}}',
  '{"a":1,"a":2}',
  "NaN",
  "Infinity",
  "'single'",
  "[1,]",
  '"\\ud800"',
  `${"[".repeat(3_000)}${"]".repeat(3_000)}`,
];

/** What fits a member of such a name; most operations would fail at their first member otherwise. */
const FITTING: readonly (readonly [name: RegExp, values: readonly string[]])[] = [
  [/^gpuIds$/, ["AMPERE_16", "ADA_24,AMPERE_80,-NVIDIA A100-SXM4-80GB"]],
  [/^gpuTypeIds?$/, ["NVIDIA L4"]],
  [/^(instanceIds?|cpuFlavorIds)$/, ["cpu5c-4-8", "cpu3g-1-4"]],
  [/^scalerType$/, ["QUEUE_DELAY", "REQUEST_COUNT"]],
  [/^type$/, ["QB", "LB"]],
  [/^(locations|countryCode)$/, ["US", "US,EU-RO-1"]],
  [/^dataCenterIds?$/, ["EU-RO-1"]],
  [/cuda/i, ["12.8"]],
  [/^ports?$/, ["8080/http,22/tcp"]],
  [/mountPath/i, ["/workspace"]],
  [/^pubKey$/, ["ssh-ed25519 AAAA you@example"]],
  [/^key$/, ["KEY"]],
];
const FITTING_NUMBERS: readonly (readonly [name: RegExp, values: readonly string[]])[] = [
  [/^workers/, ["0", "1"]],
  [/^(size|containerDiskInGb|idleTimeout|limit)$/, ["5", "20"]],
  [/^volumeInGb$/, ["0"]],
  [/^(gpuCount|vcpuCount|scalerValue)$/, ["1", "2"]],
  [/^executionTimeoutMs$/, ["0", "5000"]],
  [/^expiresInSeconds$/, ["60", "3600"]],
];
const PLAUSIBLE_NUMBERS = ["0", "1", "2", "5", "60", "3600"];
const PLAUSIBLE = ["EU-RO-1", "example/worker:1", "python -u handler.py", "a {{ SECRET_marker }}"];

function fitting(
  list: readonly (readonly [name: RegExp, values: readonly string[]])[],
  name: string,
): readonly string[] | undefined {
  return list.find(([pattern]) => pattern.test(name))?.[1];
}

/** Values that were planted; whatever is sent under such a name must never come back. */
export const PLANTED = "planted-secret";
const SECRET_MEMBER = /^(value|password|username)$/;
const SECRET_KEEPER = /secret|registry/i;

/** What an id may be of; the first that a name speaks of counts. */
const NOUNS = ["template", "volume", "registry", "secret", "apikey", "job", "endpoint"];

export class World {
  readonly #ids = new Map<string, string[]>();
  readonly #names: string[] = ["fuzz"];
  readonly endpointIds: string[] = [];

  /** Remembers the ids and names in an answer. */
  learn(path: string, text: string): void {
    if (path.includes("openapi")) return; // ids of operations
    this.#learnFrom(JSON.parse(text), path.startsWith("/v2/") ? "job" : path);
  }

  #learnFrom(value: unknown, place: string): void {
    if (typeof value !== "object" || value === null) return;
    for (const [member, content] of Object.entries(value)) {
      if (typeof content !== "string") this.#learnFrom(content, nounIn(member) ? member : place);
      else if (content.length > 80) continue;
      else if (member === "name") keep(this.#names, content);
      else if (/id$/i.test(member)) keep(this.#idsOf(nounIn(member) ?? nounIn(place)), content);
    }
  }

  #idsOf(noun = "any"): string[] {
    const ids = this.#ids.get(noun) ?? ["none"];
    this.#ids.set(noun, ids);
    return ids;
  }

  /** An id of what the place speaks of, such as a member `templateId` or an operation `secretDelete`. */
  id(chance: Chance, place: string): string {
    const noun = nounIn(place);
    if (noun === "endpoint") return chance.pick(chance.is(0.7) ? this.endpointIds : this.#idsOf(noun));
    return chance.pick(this.#idsOf(chance.is(0.9) ? noun : "any"));
  }

  /** A value of a member; `place` says where it stands, such as the operation that it is an input of. */
  text(chance: Chance, name: string, wrongness: number, place: string): string {
    if (SECRET_MEMBER.test(name) && SECRET_KEEPER.test(place)) return `${PLANTED}-${chance.below(1e6)}`;
    if (chance.is(wrongness)) return chance.pick(HOSTILE_STRINGS);
    const fit = fitting(FITTING, name);
    if (fit && chance.is(0.9)) return chance.pick(fit);
    if (/ids?$/i.test(name)) return this.id(chance, nounIn(name) ? name : place);
    if (/name$/i.test(name)) return chance.is(0.3) ? chance.pick(this.#names) : `n${chance.below(1e6)}`;
    return chance.pick(PLAUSIBLE);
  }
}

/** A number of a member, as it is written. */
export function numberFor(chance: Chance, name: string): string {
  const fit = fitting(FITTING_NUMBERS, name);
  return chance.pick(fit && chance.is(0.95) ? fit : PLAUSIBLE_NUMBERS);
}

function nounIn(text: string): string | undefined {
  const lower = text.toLowerCase();
  return NOUNS.find((noun) => lower.includes(noun));
}

function keep(list: string[], value: string): void {
  if (list.includes(value)) return;
  list.push(value);
  if (list.length > KEPT) list.shift();
}
