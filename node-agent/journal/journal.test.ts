import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "vitest";
import { type AttemptRecord, Journal, type JournalAttempt } from "./journal.ts";

let directory: string;

beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), "journal-"))));
afterEach(() => rm(directory, { recursive: true }));

const COUNT = 12;
/** Not a whole number of pages or sectors. */
const STEP = 4_999;
const SECTOR = 512;

const nameOf = (number: number): string => `job-${number}`;
const ALL = Array.from({ length: COUNT }, (_, index) => nameOf(index));

/** The attempts in files of a journal that is open, as a power failure leaves them once `damage` was done to its log. */
async function afterPowerFailure(
  name: string,
  damage: (log: Buffer) => Buffer,
): Promise<readonly JournalAttempt[]> {
  const [from, to] = [join(directory, "state"), join(directory, name)];
  await cp(from, to, { recursive: true });
  const log = join(to, "journal.db-wal");
  await writeFile(log, damage(await readFile(log)));
  const journal = new Journal(to);
  try {
    return journal.attempts();
  } finally {
    journal.close();
  }
}

async function namesAfter(name: string, damage: (log: Buffer) => Buffer): Promise<readonly string[]> {
  return (await afterPowerFailure(name, damage)).map(({ jobId }) => jobId);
}

function recordOf(jobId: string, attempt = 1, receivedAt = 0): AttemptRecord {
  return { jobId, attempt, workerId: "w", endpointId: "e", receivedAt, executionTimeoutMs: 1 };
}

describe("a log that a power failure has torn", () => {
  let journal: Journal;
  let length: number;

  beforeEach(async () => {
    await mkdir(join(directory, "state"));
    journal = new Journal(join(directory, "state"));
    for (const [index, jobId] of ALL.entries()) journal.addAttempts([recordOf(jobId, 1, index)]);
    ({ length } = await readFile(join(directory, "state", "journal.db-wal")));
  });
  afterEach(() => journal.close());

  test("has what was written first, wherever it is cut", async ({ expect }) => {
    for (let cut = 0; cut < length; cut += STEP) {
      const found = await namesAfter(`cut-${cut}`, (log) => log.subarray(0, cut));
      expect(found).toEqual(ALL.slice(0, found.length));
    }
  });

  test("has what was written before a sector that did not reach the disk", async ({ expect }) => {
    for (let at = 0; at < length; at += STEP) {
      const found = await namesAfter(`lost-${at}`, (log) => log.fill(0, at, at + SECTOR));
      expect(found).toEqual(ALL.slice(0, found.length));
    }
  });

  test("has all where nothing is missing", async ({ expect }) => {
    expect(await namesAfter("whole", (log) => log)).toEqual(ALL);
  });
});

describe("what an agent that is killed may lack", () => {
  let journal: Journal;
  let kills = 0;

  beforeEach(async () => {
    await mkdir(join(directory, "state"));
    journal = new Journal(join(directory, "state"));
    journal.addAttempts([recordOf("job-1"), recordOf("job-2", 2)]);
  });
  afterEach(() => journal.close());

  const delivered = async (): Promise<readonly string[]> => {
    kills += 1;
    const attempts = await afterPowerFailure(`killed-${kills}`, (log) => log);
    return attempts.filter(({ isDelivered }) => isDelivered).map(({ jobId }) => jobId);
  };

  test("is in the next commit", async ({ expect }) => {
    journal.markDelivered(recordOf("job-1"));
    journal.addAttempts([recordOf("job-3")]);
    expect(await delivered()).toEqual(["job-1"]);
  });

  test("is written soon where none comes", async ({ expect }) => {
    journal.markDelivered(recordOf("job-1"));
    await expect.poll(delivered).toEqual(["job-1"]);
  });

  test("is not that a repeated attempt has reached its worker", async ({ expect }) => {
    journal.markDelivered(recordOf("job-2", 2));
    expect(await delivered()).toEqual(["job-2"]);
  });

  test("does not end an attempt that comes again", ({ expect }) => {
    journal.removeAttempt(recordOf("job-1"));
    journal.addAttempts([recordOf("job-1")]);
    expect(journal.attempts()).toHaveLength(2);
  });
});
