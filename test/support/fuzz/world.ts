/** What a fuzz run knows of the account that it writes to: ids and names that are real for a while. */
import type { Chance } from "./chance.ts";

const KEPT = 40;

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

const PLAUSIBLE: readonly string[] = [
  "AMPERE_16",
  "ADA_24,AMPERE_80,-NVIDIA A100-SXM4-80GB",
  "cpu5c-4-8",
  "QUEUE_DELAY",
  "REQUEST_COUNT",
  "QB",
  "LB",
  "US,EU-RO-1",
  "EU-RO-1",
  "12.8",
  "8080/http,22/tcp",
  "example/worker:1",
  "python -u handler.py",
];

export class World {
  readonly #ids: string[] = ["none"];
  readonly #names: string[] = ["fuzz"];
  readonly jobIds: string[] = [];
  readonly endpointIds: string[] = [];

  /** Remembers the ids and names in an answer; those of API keys are left out, so that none is revoked. */
  learn(path: string, text: string): void {
    if (/apiKey/i.test(text)) return;
    const isQueue = path.startsWith("/v2/");
    for (const [, member, value] of text.matchAll(/"(id|name|templateId)":"([^"\\]{1,80})"/g)) {
      if (value === undefined) continue;
      if (isQueue) keep(this.jobIds, value);
      else keep(member === "name" ? this.#names : this.#ids, value);
    }
  }

  text(chance: Chance, name: string, wrongness: number): string {
    if (chance.is(wrongness)) return chance.pick(HOSTILE_STRINGS);
    if (/id$/i.test(name)) return chance.pick(chance.is(0.5) ? this.endpointIds : this.#ids);
    if (/name$/i.test(name)) return chance.is(0.3) ? chance.pick(this.#names) : `n${chance.below(1e6)}`;
    return chance.pick(PLAUSIBLE);
  }
}

function keep(list: string[], value: string): void {
  if (list.includes(value)) return;
  list.push(value);
  if (list.length > KEPT) list.shift();
}
