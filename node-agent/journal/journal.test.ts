import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "vitest";
import { Journal } from "./journal.ts";

let directory: string;

beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), "journal-"))));
afterEach(() => rm(directory, { recursive: true }));

const COUNT = 12;
/** Not a whole number of pages or sectors. */
const STEP = 4_999;
const SECTOR = 512;

const nameOf = (number: number): string => `job-${number}`;
const ALL = Array.from({ length: COUNT }, (_, index) => nameOf(index));

/** Files of a journal that is open, as a power failure leaves them once `damage` was done to its log. */
async function afterPowerFailure(name: string, damage: (log: Buffer) => Buffer): Promise<readonly string[]> {
  const [from, to] = [join(directory, "state"), join(directory, name)];
  await cp(from, to, { recursive: true });
  const log = join(to, "journal.db-wal");
  await writeFile(log, damage(await readFile(log)));
  const journal = new Journal(to);
  try {
    return journal.attempts().map(({ jobId }) => jobId);
  } finally {
    journal.close();
  }
}

describe("a log that a power failure has torn", () => {
  let journal: Journal;
  let length: number;

  beforeEach(async () => {
    await mkdir(join(directory, "state"));
    journal = new Journal(join(directory, "state"));
    for (const [index, jobId] of ALL.entries())
      journal.addAttempts([
        {
          ...{ jobId, attempt: 1, workerId: "w", endpointId: "e" },
          ...{ receivedAt: index, executionTimeoutMs: 1 },
        },
      ]);
    ({ length } = await readFile(join(directory, "state", "journal.db-wal")));
  });
  afterEach(() => journal.close());

  test("has what was written first, wherever it is cut", async ({ expect }) => {
    for (let cut = 0; cut < length; cut += STEP) {
      const found = await afterPowerFailure(`cut-${cut}`, (log) => log.subarray(0, cut));
      expect(found).toEqual(ALL.slice(0, found.length));
    }
  });

  test("has what was written before a sector that did not reach the disk", async ({ expect }) => {
    for (let at = 0; at < length; at += STEP) {
      const found = await afterPowerFailure(`lost-${at}`, (log) => log.fill(0, at, at + SECTOR));
      expect(found).toEqual(ALL.slice(0, found.length));
    }
  });

  test("has all where nothing is missing", async ({ expect }) => {
    expect(await afterPowerFailure("whole", (log) => log)).toEqual(ALL);
  });
});
