/** Finds lines of logs in R2, the newest first, within what one query may read. */
import { logLineSchema } from "../../contract/agent/log.ts";
import { readBytes } from "../../durable/request-body.ts";
import { LogCollector, type LogCut } from "../../domain/logs/log-collector.ts";
import {
  DAY_MS,
  daysBack,
  keyBefore,
  logPrefix,
  readLogKey,
  SEQ_PER_MS,
  SPAN_MAX,
  type LogObject,
  type LogOwner,
} from "../../domain/logs/log-key.ts";
import {
  comparePositions,
  matchesFilter,
  type LogFilter,
  type LogPosition,
} from "../../domain/logs/log-lines.ts";

/** What one query may read of R2; the rest comes with its cursor. */
const LOG_QUERY_READS_MAX = 200;

const LOG_QUERY_LISTS_MAX = 40;
const LOG_QUERY_BYTES_MAX = 64_000_000;

export type LogSearch = {
  readonly owner: LogOwner;
  readonly filter: LogFilter;
  /** `seq` of the first line that may be shown. */
  readonly from: number;
  /** Only lines before this position are shown. */
  readonly before: LogPosition;
  readonly limit: number;
};

type FoundObject = LogObject & { readonly key: string };

/** Objects that are unpacked at the same time: each is in memory for that, but for the lines that are not meant. */
const READS_AT_ONCE = 3;

/** The newest lines that are meant. `before` of the answer leads on, also where nothing was found yet. */
export async function findLines(bucket: R2Bucket, search: LogSearch): Promise<LogCut> {
  const collector = new LogCollector(search.limit);
  const objects = new ObjectList(bucket, search);
  let [reads, readLength] = [0, 0];
  for (;;) {
    const next = await objects.take(READS_AT_ONCE);
    const [newest] = next;
    if (!newest) return collector.cut(objects.unseenLast);
    const hasReadEnough = reads >= LOG_QUERY_READS_MAX || readLength >= LOG_QUERY_BYTES_MAX;
    if (collector.isFull(newest.last) || hasReadEnough) return collector.cut(newest.last);
    // What begins before the cursor and ends after it was counted by the page before.
    reads += next.filter(({ last }) => last < search.before.seq).length;
    const read = await Promise.all(next.map((object) => readObject(bucket, search, object, collector)));
    for (const [index, length] of read.entries()) {
      if ((next[index]?.last ?? 0) < search.before.seq) readLength += length;
    }
  }
}

/** Adds the lines of an object that are meant, as they are unpacked; returns the length of all of its text. */
async function readObject(
  bucket: R2Bucket,
  { filter, from, before }: LogSearch,
  { key, workerId }: FoundObject,
  collector: LogCollector,
): Promise<number> {
  const object = await bucket.get(key);
  if (!object) return 0; // it was too old a moment ago
  let length = 0;
  for await (const lines of linesOf(object.body.pipeThrough(new DecompressionStream("gzip")))) {
    for (const json of lines) {
      length += json.length;
      const line = { ...logLineSchema.parse(JSON.parse(json)), workerId };
      if (line.seq >= from && comparePositions(line, before) < 0 && matchesFilter(line, filter))
        collector.add([line]);
    }
  }
  return length;
}

async function* linesOf(text: ReadableStream): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of readBytes(text)) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield lines;
  }
  yield [rest + decoder.decode()];
}

/** The objects that may hold what is searched, those with the newest last line first. */
class ObjectList {
  readonly #bucket: R2Bucket;
  readonly #search: LogSearch;
  readonly #days: Iterator<string, undefined>;
  #day: string | undefined;
  #found: FoundObject[] = [];
  #startAfter: string | undefined;
  #lists = 0;
  #unseenLast: number | undefined;

  constructor(bucket: R2Bucket, search: LogSearch) {
    this.#bucket = bucket;
    this.#search = search;
    this.#days = daysBack(search.before.seq + SPAN_MAX, search.from);
    this.#day = this.#days.next().value;
  }

  /** Where the list was cut off because it had become too long; undefined when the list is complete. */
  get unseenLast(): number | undefined {
    return this.#unseenLast;
  }

  async take(count: number): Promise<FoundObject[]> {
    while (this.#found.length < count && (await this.#list()));
    return this.#found.splice(0, count);
  }

  /** False when there is no more to list. */
  async #list(): Promise<boolean> {
    const day = this.#day;
    if (day === undefined || this.#unseenLast !== undefined) return false;
    const { owner, before } = this.#search;
    const upTo = keyBefore(owner, day, before.seq + SPAN_MAX);
    const startAfter = this.#startAfter ?? upTo;
    if (this.#lists >= LOG_QUERY_LISTS_MAX) {
      this.#unseenLast = this.#endOf(day);
      return false;
    }
    this.#lists += 1;
    const page = await this.#bucket.list({ prefix: logPrefix(owner, day), startAfter });
    this.#found.push(...page.objects.flatMap(({ key }) => this.#meant(key)));
    this.#startAfter = page.truncated ? page.objects.at(-1)?.key : undefined;
    if (!page.truncated) this.#day = this.#days.next().value;
    return true;
  }

  /** Nothing unseen is above this. */
  #endOf(day: string): number {
    const seen = this.#startAfter === undefined ? undefined : readLogKey(this.#startAfter)?.last;
    return seen ?? (Date.parse(day) + DAY_MS) * SEQ_PER_MS - 1;
  }

  #meant(key: string): FoundObject[] {
    const { filter, from, before } = this.#search;
    const object = readLogKey(key);
    if (!object || object.last < from || object.first > before.seq) return [];
    if (filter.workerId !== undefined && object.workerId !== filter.workerId) return [];
    return [{ ...object, key }];
  }
}
